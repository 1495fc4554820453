import { definePlugin, provide } from "verl";
import { TaggedToolParser } from "./tool-parser.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [
    provide("tool_parser", "__key__", {
      description: "JSON calls between `<tool_call>` and `</tool_call>`.",
      create: TaggedToolParser,
    }),
  ],
});
