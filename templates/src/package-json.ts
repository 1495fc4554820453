import { ownPackage } from "./assets.ts";
import type { Choices } from "./choices.ts";
import { runScript } from "./package-manager.ts";
import { TEMPLATES, type Template } from "./templates.ts";

/** Tools of every project, and those that TypeScript adds; versions are the scaffolder's own. */
const TOOLS = ["@tensorflow/tfjs", "prettier", "publint"];
const TYPESCRIPT_TOOLS = ["@types/node", "eslint", "eslint-config-prettier", "tsx", "typescript", "typescript-eslint"];

/** The range of verl's versions whose plugin API a project is made for: `^0.1` for 0.1.4, `^2` for 2.3.0. */
export function apiRange(version: string): string {
  const [major, minor] = version.split(".");
  return major === "0" ? `^0.${minor}` : `^${major}`;
}

/** The package.json of a project, as npm would write it. */
export function packageJson({ template: templateName, name, key, pm }: Choices): string {
  const template: Template = TEMPLATES[templateName];
  const { version, devDependencies } = ownPackage();
  const tools = [...TOOLS, ...(template.typescript ? TYPESCRIPT_TOOLS : [])];
  const versions = [...tools.map((tool) => [tool, devDependencies[tool]]), ["verl", `^${version}`]];
  const manifest = {
    name,
    version: "0.1.0",
    description: template.description,
    keywords: ["verl", "verl-plugin", ...template.kinds.map((kind) => `verl-${kind.replaceAll("_", "-")}`)],
    license: "MIT",
    type: "module",
    engines: { node: ">=20.19" },
    exports: exportsOf(template),
    files: [template.typescript ? "dist" : "index.js", ...(template.preset ? ["preset.yaml"] : [])],
    sideEffects: false,
    scripts: template.typescript ? typescriptScripts(template, pm) : plainScripts(template, pm),
    peerDependencies: { "@tensorflow/tfjs": "^4.22.0", verl: `^${version}` },
    devDependencies: Object.fromEntries(versions.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1))) as object,
    publishConfig: { access: "public", provenance: true },
    allowScripts: { "core-js": false, esbuild: false, "onnxruntime-node": false },
    verl: {
      api: apiRange(version),
      source: template.typescript ? "./src/index.ts" : "./index.js",
      ...(template.preset && { preset: "./preset.yaml" }),
      provides: Object.fromEntries(template.kinds.map((kind) => [kind, [key]])),
    },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

function exportsOf({ typescript, preset }: Template): object {
  return {
    ".": typescript ? { types: "./dist/index.d.ts", default: "./dist/index.js" } : "./index.js",
    ...(preset && { "./preset.yaml": "./preset.yaml" }),
    "./package.json": "./package.json",
  };
}

/** Makes the example's data, and a model that gives answers at all. */
const warmUp = ({ example, prepare }: Template): string =>
  [
    `node examples/${example}/make-data.mjs`,
    ...(prepare === undefined ? [] : [`node ${prepare}`]),
    `verl sft examples/${example}/sft.yaml trainer.resume_mode=disable`,
  ].join(" && ");

const TRY = "verl train examples/run.yaml";

function typescriptScripts(template: Template, pm: Choices["pm"]): object {
  const run = (script: string): string => runScript(pm, script);
  return {
    build: "tsc -p tsconfig.build.json",
    check: "tsc && eslint . && prettier --check . && verl plugin docs --check",
    docs: "verl plugin docs --write",
    format: "prettier --write .",
    prepublishOnly: `${run("build")} && ${run("check")} && ${run("test")} && publint`,
    test: "node --import tsx --test test/*.test.ts",
    // A preset names the package as others will see it, built.
    try: `${template.preset ? `${run("build")} && ` : ""}${run("warm-up")} && ${TRY}`,
    "warm-up": warmUp(template),
  };
}

function plainScripts(template: Template, pm: Choices["pm"]): object {
  return {
    check: "prettier --check . && verl plugin docs --check",
    docs: "verl plugin docs --write",
    format: "prettier --write .",
    prepublishOnly: `${runScript(pm, "check")} && ${runScript(pm, "test")} && publint`,
    test: "node --test test/*.test.js",
    try: `${runScript(pm, "warm-up")} && ${TRY}`,
    "warm-up": warmUp(template),
  };
}
