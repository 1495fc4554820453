import { number, section, text, texts } from "./field.ts";

/** Keys of ours at the root of every config. */
export const host = {
  plugins: texts("Plugins to load: package names, or paths of .ts or .js files.", [], {
    "x-departure": "Not in verl.",
  }),
  tensor_backend: text(
    "Key of the `tensor_backend` registry; null: the best that runs here for `trainer.device`.",
    null,
    {
      "x-departure": "Not in verl.",
    },
  ),
  tensor_adapter: text("Part of the name of the GPU that `webgpu` takes; null: the system's first choice.", null, {
    "x-departure": "Not in verl.",
  }),
  controller: section("How the trainer calls its workers.", {
    transport: text(
      "Key of the `transport` registry. `inline`: all ranks in the trainer's own thread; `thread`: each in a thread of its own.",
      "inline",
      { "x-departure": "Not in verl, where it is always Ray." },
    ),
    start_timeout_s: number("Seconds that the start may wait for resources and for all ranks to be ready.", 300, {
      exclusiveMinimum: 0,
      "x-departure": "Not in verl, which waits without end.",
    }),
    silence_timeout_s: number(
      "Seconds without a sign of life after which a rank is given up. Longer than any computation that keeps a rank from its event loop.",
      300,
      { exclusiveMinimum: 0, "x-departure": "Not in verl." },
    ),
  }),
};
