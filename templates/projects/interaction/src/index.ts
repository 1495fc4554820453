import { definePlugin, provide } from "verl";
import { StrictUser } from "./interaction.js";

export default definePlugin({
  name: "__name__",
  version: "__version__",
  verl: "__api__",
  provides: [
    provide("interaction", "__key__", {
      description: "Says no until the answer is right.",
      create: StrictUser,
    }),
  ],
});
