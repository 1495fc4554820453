import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";

const bin = join(import.meta.dirname, "../../dist/bin.js");
const folder = mkdtempSync(join(tmpdir(), "verl-backends-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Backends as native libraries make them: one that talks, and one that ends the process. */
writeFileSync(
  join(folder, "hostile.mjs"),
  `import { writeSync } from "node:fs";
   import { registerTensorBackend } from "verl";
   const backend = (unavailable) => ({ description: "x", tfjsName: "x", unavailable, activate: async () => undefined });
   registerTensorBackend("a-noisy", backend(async () => void writeSync(2, "Warning: no such layer\\n")));
   registerTensorBackend("b-deadly", backend(async () => process.kill(process.pid, "SIGKILL")));
   registerTensorBackend("c-broken", backend(async () => { throw new TypeError("no such function"); }));`,
);

const verl = (...argv: string[]) =>
  spawnSync(process.execPath, [bin, ...argv], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });

it("verl backend list tries each backend apart: its noise is not heard, and its end is told", () => {
  const { status, stdout, stderr } = verl("backend", "list", "--plugin", "./hostile.mjs", "--json");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const states = JSON.parse(stdout) as { key: string; usable: boolean; reason?: string }[];
  const reasonOf = (name: string) => states.find(({ key }) => key === name)!.reason;
  expect(states.map(({ key }) => key)).toEqual(
    ["a-noisy", "b-deadly", "c-broken", "cpu", "ort", "tensorflow", "wasm", "webgpu"], // prettier-ignore
  );
  expect(states.find(({ key }) => key === "a-noisy")).toMatchObject({ usable: true });
  expect(reasonOf("b-deadly")).toBe("trying it ended the process (SIGKILL).");
  expect(reasonOf("c-broken")).toContain("no such function");
  expect(reasonOf("cpu")).toBeUndefined();
});

it("verl doctor says nothing on stderr, and that a backend computes", () => {
  const { status, stdout, stderr } = verl("doctor");
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/✔ +arithmetic +on ort, which a run takes/);
});
