import { cp } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import resolve from "@rollup/plugin-node-resolve";
import swc from "@rollup/plugin-swc";
import { dts } from "rollup-plugin-dts";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

const entries = {
  index: "core/index.ts",
  plugins: "plugins/index.ts",
  testing: "core/testing/index.ts",
  bin: "core/cli/bin.ts",
};

/** The built-ins import the SDK by its name, as any plugin does; inside one build that name is the core's entry. */
const selfReference = {
  name: "verl-self-reference",
  resolveId(source) {
    if (source === "verl") return at("core/index.ts");
    if (source === "verl/plugins" || source === "verl/testing") return { id: source, external: true };
    return null;
  },
};

/** Files that are read at run time lie beside the code that reads them. */
const assets = {
  name: "verl-assets",
  async writeBundle() {
    await cp(at("core/config/ppo_trainer.yaml"), at("dist/ppo_trainer.yaml"));
    await cp(at("core/trainer/report/assets"), at("dist/report"), { recursive: true });
    const charts = fileURLToPath(new URL(".", import.meta.resolve("uplot/package.json")));
    await cp(`${charts}dist/uPlot.iife.min.js`, at("dist/report/uPlot.iife.min.js"));
    await cp(`${charts}dist/uPlot.min.css`, at("dist/report/uPlot.min.css"));
    await cp(`${charts}LICENSE`, at("dist/report/uPlot.LICENSE"));
    await cp(at("core/registry/tsconfig.plugin.json"), at("dist/tsconfig.plugin.json"));
  },
};

const external = (id) => !id.startsWith(".") && !id.startsWith("/") && id !== "verl" && !id.startsWith("verl/");

const code = {
  input: entries,
  output: {
    dir: "dist",
    format: "es",
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
  },
  external,
  plugins: [
    selfReference,
    resolve({ extensions: [".ts", ".js", ".mjs"] }),
    swc({
      swc: {
        jsc: {
          parser: { syntax: "typescript", decorators: true },
          transform: { legacyDecorator: true },
          target: "es2022",
        },
      },
    }),
    assets,
  ],
};

/** Rooms merge their contracts into `EntryOf` by module name; in the bundle that name is the chunk's own. */
const augmentations = {
  name: "verl-augmentations",
  renderChunk: (code, { fileName }) =>
    code.replace(/^declare module "\.[^"]*"/gm, `declare module "./${fileName.replace(/\.d\.ts$/, ".js")}"`),
};

const types = {
  input: { index: entries.index, plugins: entries.plugins, testing: entries.testing },
  output: { dir: "dist", format: "es", minifyInternalExports: false },
  external,
  plugins: [selfReference, dts({ tsconfig: at("tsconfig.json") }), augmentations],
};

export default (arguments_) => (arguments_.configTypes === false ? [code] : [code, types]);
