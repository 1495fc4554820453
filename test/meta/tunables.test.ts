import { expect, test } from "@jest/globals";
import { readFileSync } from "node:fs";

const TUNABLES = /glibc\.malloc\.[a-z0-9_.:=]+/g;

/** Every program that handles batches of a training, and what the benches measure them with. */
const STARTS = ["core/cli/bin.ts", "core/controller/ray/ray-transport.ts", "package.json"];

test("verl, its ranks on Ray and the benches ask the same of glibc", () => {
  const asked = STARTS.map((file) => readFileSync(file, "utf8").match(TUNABLES));
  for (const found of asked) expect(found).toHaveLength(1);
  expect(new Set(asked.flat()).size).toBe(1);
});
