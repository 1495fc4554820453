import { execFile } from "node:child_process";
import { cp, readdir, readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import resolve from "@rollup/plugin-node-resolve";
import swc from "@rollup/plugin-swc";
import { dts } from "rollup-plugin-dts";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

const entries = {
  index: "core/index.ts",
  "prompt-host": "core/data/prompts/prompt-host.ts",
  plugins: "plugins/index.ts",
  testing: "core/testing/index.ts",
  bin: "core/cli/bin.ts",
  "probe-host": "core/cli/doctor/probe-host.ts",
  "score-host": "core/reward/pool/score-host.ts",
  "thread-rank": "core/controller/thread/thread-rank.ts",
  "ray-rank": "core/controller/ray/ray-rank.ts",
  "ray-beat": "core/controller/ray/ray-beat.ts",
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

/** Large packages that most commands need nothing of: a wrong config is told without them. */
const LAZY = ["@tensorflow/tfjs", "apache-arrow"];

/**
 * Loads each of them when the first of its names is read, and by `require`: `import` would make Node look through all files of a
 * CommonJS package for names, and resolve each of the many files of an ES package by itself.
 */
const lazyPackages = {
  name: "verl-lazy-packages",
  resolveId: (source) => (LAZY.includes(source) ? `\0lazy:${source}` : null),
  load(id) {
    if (!id.startsWith("\0lazy:")) return null;
    const code = `
      import { createRequire } from "node:module";
      let loaded = false;
      // Asked for names that the object below does not have: all of them at first, none once the package has filled it.
      const first = new Proxy({}, {
        get(_, name) {
          if (loaded) return undefined;
          loaded = true;
          const names = createRequire(import.meta.url)(${JSON.stringify(id.slice("\0lazy:".length))});
          Object.defineProperties(all, Object.getOwnPropertyDescriptors(names));
          return all[name];
        },
      });
      const all = Object.create(first);
      export default all;`;
    return { code, syntheticNamedExports: true };
  },
};

/** Files that are read at run time lie beside the code that reads them. */
const assets = {
  name: "verl-assets",
  async writeBundle() {
    await cp(at("core/config/ppo_trainer.yaml"), at("dist/ppo_trainer.yaml"));
    await cp(at("core/controller/ray/driver.py"), at("dist/driver.py"));
    await cp(at("core/trainer/report/assets"), at("dist/report"), { recursive: true });
    const charts = fileURLToPath(new URL(".", import.meta.resolve("uplot/package.json")));
    await cp(`${charts}dist/uPlot.iife.min.js`, at("dist/report/uPlot.iife.min.js"));
    await cp(`${charts}dist/uPlot.min.css`, at("dist/report/uPlot.min.css"));
    await cp(`${charts}LICENSE`, at("dist/report/uPlot.LICENSE"));
    for (const file of ["ecosystem.json", "tsconfig.plugin.json"])
      await cp(at(`core/registry/${file}`), at(`dist/${file}`));
  },
};

/** The editors' schemas, written by the command that users have for it; chunks of earlier builds go. */
const schemas = {
  name: "verl-schemas",
  async writeBundle(_options, bundle) {
    for (const file of await readdir(at("dist/chunks"))) {
      const path = `chunks/${file.replace(/\.map$/, "")}`;
      if (!(path in bundle)) await rm(at(`dist/chunks/${file}`), { force: true });
    }
    const write = (...args) => promisify(execFile)(process.execPath, [at("dist/bin.js"), "schema", ...args]);
    await Promise.all([write("--out", at("dist/schema.json")), write("--sft", "--out", at("dist/schema.sft.json"))]);
  },
};

const external = (id) =>
  !id.startsWith("\0") && !id.startsWith(".") && !id.startsWith("/") && id !== "verl" && !id.startsWith("verl/");

const typescript = swc({
  swc: {
    jsc: {
      parser: { syntax: "typescript", decorators: true },
      transform: { legacyDecorator: true },
      target: "es2022",
    },
  },
});

const code = {
  input: entries,
  output: {
    dir: "dist",
    format: "es",
    sourcemap: true,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name]-[hash].js",
  },
  external: (id) => !LAZY.includes(id) && external(id),
  plugins: [selfReference, lazyPackages, resolve({ extensions: [".ts", ".js", ".mjs"] }), typescript, assets, schemas],
};

/**
 * Rooms merge their contracts into `EntryOf` by module name; in the bundle that name is the chunk's own. Rollup takes the names that
 * they use there for globals, and renames the chunk's own declarations out of their way: `ClassEntry$1` is what they mean.
 */
const augmentations = {
  name: "verl-augmentations",
  renderChunk(code, { fileName }) {
    const declared = new Set(code.match(/(?<=^(?:declare )?(?:abstract )?(?:interface|type|class) )[\w$]+/gm));
    const renamed = (name) => (!declared.has(name) && declared.has(`${name}$1`) ? `${name}$1` : name);
    return code.replace(
      /^declare module "\.[^"]*"([^]*?^\})/gm,
      (_, body) =>
        `declare module "./${fileName.replace(/\.d\.ts$/, ".js")}"${body.replace(/[A-Z][\w$]*/g, (name) => renamed(name))}`,
    );
  },
};

/** Declarations of earlier builds go, as chunks do. */
const tidyTypes = {
  name: "verl-tidy-types",
  async writeBundle(_options, bundle) {
    const old = (await readdir(at("dist"))).filter((file) => file.endsWith(".d.ts") && !(file in bundle));
    await Promise.all(old.map((file) => rm(at(`dist/${file}`))));
  },
};

const types = {
  input: { index: entries.index, plugins: entries.plugins, testing: entries.testing },
  output: { dir: "dist", format: "es", minifyInternalExports: false },
  external,
  plugins: [selfReference, dts({ tsconfig: at("tsconfig.json") }), augmentations, tidyTypes],
};

/** The scaffolder bundles what it uses, so the licences of that come along. */
const licences = {
  name: "verl-licences",
  async generateBundle() {
    const packages = new Set(
      [...this.getModuleIds()].flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? []),
    );
    const texts = [...packages].sort().map(async (folder) => {
      const { name, license } = JSON.parse(await readFile(`${folder}/package.json`, "utf8"));
      const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? "" : (await readFile(`${folder}/${file}`, "utf8")).trim();
      return `${name} (${license})\n\n${text}`;
    });
    const source = `${(await Promise.all(texts)).join("\n\n---\n\n")}\n`;
    this.emitFile({ type: "asset", fileName: "THIRD-PARTY-LICENSES.txt", source });
  },
  /** What projects train. */
  async writeBundle() {
    for (const example of ["sort-letters", "tool-calculator"])
      await cp(at(`examples/${example}`), at(`templates/dist/examples/${example}`), {
        recursive: true,
        filter: (from) =>
          /(^|[\\/])(tool-calculator|sort-letters|model|make-data\.mjs|reward\.ts|\w+\.json|(grpo|sft|tools)\.yaml)$/.test(
            from,
          ),
      });
  },
};

const scaffolder = {
  input: "templates/src/index.ts",
  output: { dir: "templates/dist", format: "es", chunkFileNames: "[name].js" },
  external: (id) => id.startsWith("node:"),
  plugins: [resolve({ extensions: [".ts", ".js", ".mjs"] }), typescript, licences],
};

/** `--configCode` leaves the type declarations out, which take most of the time. */
export default ({ configCode }) => (configCode ? [code, scaffolder] : [code, types, scaffolder]);
