import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";

const root = join(import.meta.dirname, "../..");
const folder = join(root, "examples/plugins");
const names = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

interface Tested {
  readonly manifest: readonly string[];
  readonly entries: readonly { readonly kind: string; readonly key: string; readonly tests: readonly object[] }[];
}

describe.each(names)("the example plugin %s", (name) => {
  const verl = (...argv: string[]) =>
    spawnSync(process.execPath, [join(root, "dist/bin.js"), "plugin", ...argv], {
      cwd: join(folder, name),
      encoding: "utf8",
      env: { ...process.env, NO_COLOR: "1" },
    });

  it("passes the conformance kit, whatever its entries ask a run for", () => {
    const { status, stdout, stderr } = verl("test", "--json");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    const { manifest, entries } = JSON.parse(stdout) as Tested;
    expect(manifest).toEqual([]);
    const { verl: said } = JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")) as {
      verl: { provides: Record<string, string[]> };
    };
    expect(Object.fromEntries(entries.map(({ kind, key }) => [kind, [key]]))).toEqual(said.provides);
    for (const { tests } of entries) expect(tests.length).toBeGreaterThan(2);
  });

  it("has the tables of its README as the command prints them", () => {
    const { status, stderr } = verl("docs", "--check");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});
