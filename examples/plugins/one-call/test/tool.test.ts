import { describe, it } from "node:test";
import { registerPlugin } from "verl";
import { testTool } from "verl/testing";
import plugin from "../src/index.js";

registerPlugin(plugin);

testTool("sums", {
  describe,
  it,
  cases: [
    { name: "a sum", input: { arguments: { e: "12 + 30-2" } }, expected: { content: "40" } },
    {
      name: "numbers beyond 2^53",
      input: { arguments: { e: "900719925474099+900719925474099" } },
      expected: { content: "1801439850948198" },
    },
    { name: "code is refused", input: { arguments: { e: "process.exit()" } }, expected: { error: "must be a sum" } },
  ],
});
