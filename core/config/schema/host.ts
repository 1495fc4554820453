import { choice, section, text, texts } from "./field.ts";

/** Keys of ours at the root of every config. */
export const host = {
  plugins: texts("Plugins to load: package names, or paths of .ts or .js files.", [], {
    "x-departure": "Not in verl.",
  }),
  tensor_backend: text("Key of the `tensor_backend` registry; null: the best that runs here for `trainer.device`.", null, {
    "x-departure": "Not in verl.",
  }),
  tensor_adapter: text("Part of the name of the GPU that `webgpu` takes; null: the system's first choice.", null, {
    "x-departure": "Not in verl.",
  }),
  controller: section("How the trainer calls its workers.", {
    transport: choice("`inline`: in the trainer's own thread.", "inline", ["inline"], {
      "x-departure": "Not in verl, where it is always Ray.",
    }),
  }),
};
