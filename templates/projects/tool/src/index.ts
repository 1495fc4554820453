import { definePlugin, provide } from "verl";
import { SumTool } from "./tool.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [
    provide("tool", "__key__", {
      description: "Adds and subtracts whole numbers.",
      create: SumTool,
    }),
  ],
});
