import { cpSync, existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "@jest/globals";
import { registerAll } from "../trainer/support/full-run.ts";
import { cli } from "./helpers.ts";

beforeAll(registerAll);

describe("verl gateway", () => {
  it("leaves no file behind where the weights cannot be read", async () => {
    const folder = mkdtempSync(join(tmpdir(), "verl-gateway-"));
    cpSync("examples/sort-letters/model", folder, { recursive: true });
    writeFileSync(join(folder, "model.safetensors"), "damaged");
    const out = join(folder, "captured.jsonl");
    const { code, stderr } = await cli(["gateway", folder, "--out", out, "--format", "hermes"]);
    expect(stderr).toContain("model.safetensors");
    expect([code > 0, existsSync(out)]).toEqual([true, false]);
  });

  it("takes no empty text for a folder", async () => {
    const { code, stderr } = await cli(["gateway", ""]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("It is the path of a folder.")]);
  });
});
