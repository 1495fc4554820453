import { parseArgs } from "node:util";
import { nearest, quotedAlternatives } from "../../core/registry/nearest.ts";
import { PACKAGE_MANAGERS, type PackageManager } from "./package-manager.ts";
import { TEMPLATE_NAMES, TEMPLATES, type TemplateName } from "./templates.ts";
import { UsageError } from "./usage-error.ts";

/** What the command line says; what it leaves open is undefined. */
export interface Flags {
  readonly directory?: string;
  readonly template?: TemplateName;
  readonly name?: string;
  readonly key?: string;
  readonly pm?: PackageManager;
  readonly install?: boolean;
  readonly git?: boolean;
  readonly yes: boolean;
  readonly dryRun: boolean;
  readonly overwrite: boolean;
  readonly list: boolean;
  readonly help: boolean;
  readonly version: boolean;
}

const OPTIONS = {
  template: { type: "string", short: "t" },
  name: { type: "string" },
  key: { type: "string" },
  pm: { type: "string" },
  install: { type: "boolean" },
  git: { type: "boolean" },
  yes: { type: "boolean", short: "y" },
  "dry-run": { type: "boolean" },
  overwrite: { type: "boolean" },
  list: { type: "boolean" },
  help: { type: "boolean", short: "h" },
  version: { type: "boolean", short: "v" },
} as const;

/** Flags that may be negated. */
const NEGATABLE = ["install", "git"];

/** The text of `--help`. */
export const HELP = `Usage: npm create verl-plugin@latest [dir] -- [flags]

Makes a plugin package for verl. On a terminal, what the flags leave open is asked.

  -t, --template <name>   what to start from; --list shows all
      --name <package>    name on npm (default: verl-plugin-<dir>)
      --key <key>         registry key of what it provides (default: from the name)
      --pm <manager>      ${PACKAGE_MANAGERS.join(", ")} (default: the one that runs this)
      --[no-]install      install dependencies
      --[no-]git          make a git repository with a first commit
  -y, --yes               ask nothing, take the defaults
      --dry-run           say which files would be written, write none
      --overwrite         write into a folder that has files; those of the same name are replaced
      --list              list the templates
  -h, --help              this text
  -v, --version           version of the scaffolder, and of the verl that projects start with

Without questions:
  npm create verl-plugin@latest my-loss -- --template policy-loss --yes
  npm create verl-plugin@latest my-tool -- -t tool --name @acme/verl-plugin-tool --no-install --no-git`;

/** The text of `--list`. */
export const LIST = TEMPLATE_NAMES.map((name) => `${name.padEnd(16)} ${TEMPLATES[name].summary}`).join("\n");

/** Reads the command line. @throws UsageError naming the nearest flag or value. */
export function parseFlags(argv: readonly string[]): Flags {
  // `npm create` hands a `--` on in some versions and takes it away in others.
  const args = argv.filter((argument) => argument !== "--");
  const { values, positionals, tokens } = parseArgs({
    args,
    options: OPTIONS,
    allowPositionals: true,
    allowNegative: true,
    strict: false,
    tokens: true,
  });
  for (const token of tokens) if (token.kind === "option") checkFlag(token);
  if (positionals.length > 1)
    throw new UsageError(`One directory is enough; "${positionals.slice(1).join('", "')}" is left over.`);
  const text = (name: keyof typeof OPTIONS): string | undefined => values[name] as string | undefined;
  return {
    directory: positionals[0],
    template: oneOf("template", text("template"), TEMPLATE_NAMES),
    name: text("name"),
    key: text("key"),
    pm: oneOf("pm", text("pm"), PACKAGE_MANAGERS),
    install: values.install as boolean | undefined,
    git: values.git as boolean | undefined,
    yes: values.yes === true,
    dryRun: values["dry-run"] === true,
    overwrite: values.overwrite === true,
    list: values.list === true,
    help: values.help === true,
    version: values.version === true,
  };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value?: string;
}

function checkFlag({ name, rawName, value }: OptionToken): void {
  const positive = name.replace(/^no-/, "");
  const known = Object.hasOwn(OPTIONS, name) || NEGATABLE.includes(positive);
  if (!known || (rawName.startsWith("--no-") && !NEGATABLE.includes(positive))) {
    const flags = [...Object.keys(OPTIONS), ...NEGATABLE.map((flag) => `no-${flag}`)].map((flag) => `--${flag}`);
    throw new UsageError(`There is no flag ${rawName}.${meant(rawName, flags)} --help lists them.`);
  }
  const wants = OPTIONS[name as keyof typeof OPTIONS]?.type;
  if (wants === "string" && (value === undefined || value === ""))
    throw new UsageError(`${rawName} needs a value: ${rawName} <…>.`);
  if (wants !== "string" && value !== undefined) throw new UsageError(`${rawName} takes no value.`);
}

function oneOf<T extends string>(flag: string, value: string | undefined, allowed: readonly T[]): T | undefined {
  if (value === undefined || allowed.includes(value as T)) return value as T | undefined;
  throw new UsageError(`--${flag} is "${value}".${meant(value, allowed)} There are ${allowed.join(", ")}.`);
}

function meant(given: string, candidates: readonly string[]): string {
  const near = nearest(given, candidates);
  return near.length === 0 ? "" : ` Did you mean ${quotedAlternatives(near)}?`;
}
