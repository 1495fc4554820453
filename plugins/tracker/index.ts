import { provide } from "verl";
import { ConsoleTracker } from "./console.ts";
import { FileTracker } from "./file.ts";
import { TensorBoardTracker } from "./tensorboard.ts";

export const trackers = [
  provide("tracker", "console", {
    description: "One short line a step on stdout.",
    departures: ["The line holds the metrics that one follows a run by; verl prints all. `metrics.jsonl` has them."],
    create: ConsoleTracker,
  }),
  provide("tracker", "file", {
    description:
      "JSON lines `{ step, data }` in `<run dir>/metrics.jsonl` and where VERL_FILE_LOGGER_PATH or VERL_FILE_LOGGER_ROOT say; null where a metric is not finite, of which the run warns.",
    departures: [
      "A resumed run keeps the lines up to the step that it resumes from; verl truncates the file.",
      "Without the environment variables the file lies in the run's directory; verl's is `./<project>/<experiment>.jsonl`.",
    ],
    create: FileTracker,
  }),
  provide("tracker", "tensorboard", {
    description: "TensorBoard event files in TENSORBOARD_DIR or `<run dir>/tensorboard`.",
    departures: ["The default directory is the run's own; verl's is `tensorboard_log/<project>/<experiment>`."],
    create: TensorBoardTracker,
  }),
];
