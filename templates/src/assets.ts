import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Example } from "./templates.ts";

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

const PROJECTS = at("../projects");
/** Copied beside the build, in the repository a folder of their own. */
const EXAMPLES = [at("./examples"), at("../../examples")].find(existsSync) ?? "";
/** What of an example a project needs. */
const EXAMPLE_FILES = [
  "grpo.yaml",
  "make-data.mjs",
  "model/config.json",
  "model/tokenizer.json",
  "model/tokenizer_config.json",
  "reward.ts",
  "sft.yaml",
  "tools.yaml",
];

/** Files by their path in the project, with their text. */
export type Files = ReadonlyMap<string, string>;

/** All files of a folder of `projects/`. A leading `_` stands for the dot that npm would drop or read. */
export function projectFolder(name: string): Files {
  const folder = join(PROJECTS, name);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name)
          .slice(folder.length + 1)
          .replaceAll("\\", "/");
        const shown = path.replace(/(^|\/)_/g, "$1.");
        return [shown, readFileSync(join(folder, path), "utf8")];
      }),
  );
}

/** An example's model, data and configs, under the paths that its configs use. */
export const exampleFiles = (example: Example): Files =>
  new Map(
    EXAMPLE_FILES.filter((file) => existsSync(join(EXAMPLES, example, file))).map((file) => [
      `examples/${example}/${file}`,
      readFileSync(join(EXAMPLES, example, file), "utf8").replace("../../dist/", "../../node_modules/verl/dist/"),
    ]),
  );

interface OwnPackage {
  readonly version: string;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/** The scaffolder's own package.json: its version is that of verl, its devDependencies are those of projects. */
export const ownPackage = (): OwnPackage => JSON.parse(readFileSync(at("../package.json"), "utf8")) as OwnPackage;
