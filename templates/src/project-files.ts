import { exampleFiles, ownPackage, projectFolder, type Files } from "./assets.ts";
import type { Choices } from "./choices.ts";
import { specifierOf } from "./names.ts";
import { apiRange, packageJson } from "./package-json.ts";
import { runScript } from "./package-manager.ts";
import { TEMPLATES, type Template } from "./templates.ts";

/** Files of a template that are put into others instead of being written. */
const PARTS = "parts/";

/** Every file of a project: those of all projects, those of its language, its template's own, and the example. */
export function projectFiles(choices: Choices): Files {
  const template: Template = TEMPLATES[choices.template];
  const folders = ["shared", ...(template.typescript ? ["typescript"] : []), choices.template];
  const raw = new Map(folders.flatMap((folder) => [...projectFolder(folder)]));
  const values = placeholders(choices, raw);
  const files = new Map<string, string>();
  for (const [path, text] of raw) if (!path.startsWith(PARTS)) files.set(path, fill(text, values));
  files.set("package.json", packageJson(choices));
  for (const [path, text] of exampleFiles(template.example)) files.set(path, text);
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

type Values = Readonly<Record<string, string>>;

function placeholders({ template, name, key, pm }: Choices, raw: Files): Values {
  const { version } = ownPackage();
  const own = {
    name,
    key,
    specifier: inYaml(specifierOf(name)),
    yaml_name: inYaml(name),
    version: "0.1.0",
    api: apiRange(version),
  };
  const part = (file: string): string => fill((raw.get(PARTS + file) ?? "").trimEnd(), own);
  const { description, preset, typescript, example }: Template = TEMPLATES[template];
  const plugin = (specifier: string): string => `plugins:\n  - ${specifier}\n\n`;
  return {
    ...own,
    description,
    example,
    choice: part("choice.yaml"),
    tables: part("tables.md"),
    year: String(new Date().getFullYear()),
    // A preset names the plugin itself.
    use: preset ? "" : plugin(own.specifier),
    plugin: plugin(typescript ? "../src/index.ts # the source; others write the package's name" : "../index.js"),
    ...Object.fromEntries(["check", "docs", "test", "try"].map((script) => [`run_${script}`, runScript(pm, script)])),
    install: pm === "npm" ? "npm ci" : `${pm} install --frozen-lockfile`,
  };
}

/** A scope's `@` starts no plain value in YAML. */
const inYaml = (text: string): string => (text.startsWith("@") ? JSON.stringify(text) : text);

const fill = (text: string, values: Values): string =>
  text.replace(/__([a-z_]+?)__/g, (whole, name: string) => values[name] ?? whole);
