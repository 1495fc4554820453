import { conformanceTests } from "../testing/suites.ts";
import { counted, VerlError } from "../errors/index.ts";
import { reasonOf } from "../errors/reason-of.ts";
import { KIND_NAMES, type Kind } from "../registry/index.ts";
import type { CliContext } from "./command.ts";
import { loadPackage, type PluginPackage } from "./plugin-package.ts";

interface TestedEntry {
  readonly kind: Kind;
  readonly key: string;
  /** Why nothing was run. */
  readonly skipped?: string;
  readonly tests: readonly { readonly name: string; readonly error?: string }[];
}

/** Runs the conformance kit on all that a package provides. @throws VERL_TESTING_PROPERTY when something fails */
export async function testPackage(given: string, { json }: { json?: boolean }, ctx: CliContext): Promise<void> {
  const found = await loadPackage(given, ctx.cwd);
  const entries: TestedEntry[] = [];
  for (const { kind, key } of found.loaded.provides) entries.push(await testEntry(kind, key, found));
  const manifest = manifestFaults(found);
  if (json) ctx.print(JSON.stringify({ manifest, entries }, null, 2));
  else
    for (const line of [...entries.flatMap(linesOf), ...manifest.map((fault) => `✖ package.json: ${fault}`)])
      ctx.print(line);
  const failed =
    entries.flatMap(({ tests }) => tests).filter(({ error }) => error !== undefined).length + manifest.length;
  if (failed === 0) return;
  throw new VerlError("VERL_TESTING_PROPERTY", `${counted(failed, "test")} of ${found.manifest.name} failed.`, {
    hint: "A property that cannot hold by design goes into package.json, `verl.testing`, with the reason.",
    location: { plugin: found.manifest.name },
  });
}

async function testEntry(kind: Kind, key: string, { manifest }: PluginPackage): Promise<TestedEntry> {
  const own = manifest.testing[`${kind}/${key}`];
  const planned = conformanceTests(kind, key, own);
  if (planned === undefined) return { kind, key, skipped: "the kit has no tests for this kind", tests: [] };
  const tests: { name: string; error?: string }[] = [];
  for (const { name, run } of planned) {
    const error = await run().then(() => undefined, reasonOf);
    tests.push({ name, error });
  }
  return { kind, key, tests };
}

/** Where the static manifest and the plugin say different things: tools that import nothing would be misled. */
function manifestFaults({ manifest, loaded }: PluginPackage): string[] {
  const faults = KIND_NAMES.flatMap((kind) => {
    const [said, real] = [
      manifest.provides[kind] ?? [],
      loaded.provides.filter((one) => one.kind === kind).map(({ key }) => key),
    ];
    const missing = real.filter((key) => !said.includes(key)).map((key) => `\`verl.provides.${kind}\` lacks "${key}".`);
    const extra = said
      .filter((key) => !real.includes(key))
      .map((key) => `\`verl.provides.${kind}\` has "${key}", which the plugin does not provide.`);
    return [...missing, ...extra];
  });
  if (loaded.version !== undefined && loaded.version !== manifest.version)
    faults.push(`the version is ${manifest.version}, and \`definePlugin\` says ${loaded.version}.`);
  if (loaded.version !== undefined && loaded.name !== manifest.name)
    faults.push(`the name is ${manifest.name}, and \`definePlugin\` says ${loaded.name}.`);
  return faults;
}

function linesOf({ kind, key, skipped, tests }: TestedEntry): string[] {
  const head = `${kind}/${key}`;
  if (skipped !== undefined) return [`- ${head}: ${skipped}`];
  return [
    head,
    ...tests.flatMap(({ name, error }) =>
      error === undefined ? [`  ✔ ${name}`] : [`  ✖ ${name}`, ...indented(error)],
    ),
  ];
}

const indented = (text: string): string[] => text.split("\n").map((line) => `      ${line}`);
