import { expect, test } from "@jest/globals";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { root } from "./files.ts";

test("the WebAssembly that is shipped is what its sources compile to", () => {
  const { status, stderr } = spawnSync(process.execPath, [join(root, "scripts/assembly.mjs"), "--check"], {
    encoding: "utf8",
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
});
