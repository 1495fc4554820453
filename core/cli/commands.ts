import type { CliCommand } from "./command.ts";

export interface CommandRow {
  readonly name: string;
  /** One line for `verl --help`. */
  readonly summary: string;
  readonly load: () => Promise<{ command: CliCommand }>;
}

/** Every subcommand, sorted by name: one line a command, one file a command, imported when it is called. */
export const COMMANDS: readonly CommandRow[] = [
  { name: "backend", summary: "Show and install tensor backends", load: () => import("./backend.ts") },
  { name: "config", summary: "Print, explain or check a config", load: () => import("./config.ts") },
  { name: "data", summary: "Check a dataset file, or write one in verl's columns", load: () => import("./data.ts") },
  { name: "doctor", summary: "Check this machine, the plugins and a config", load: () => import("./doctor.ts") },
  {
    name: "gateway",
    summary: "Serve a model to agents, and keep what they sample",
    load: () => import("./gateway.ts"),
  },
  { name: "info", summary: "Tell all about one entry: options, paper, metrics", load: () => import("./info.ts") },
  { name: "list", summary: "List what the registries hold", load: () => import("./list.ts") },
  { name: "parser", summary: "Try a tool-call parser on an answer", load: () => import("./parser.ts") },
  { name: "plugin", summary: "Test or document a plugin's package", load: () => import("./plugin.ts") },
  { name: "report", summary: "Build report.html of a run again", load: () => import("./report.ts") },
  { name: "reward", summary: "Score answers again, without training", load: () => import("./reward.ts") },
  { name: "schema", summary: "Print the JSON Schema of a config, for editors", load: () => import("./schema.ts") },
  {
    name: "sft",
    summary: "Fine-tune a model on conversations",
    load: () => import("./sft.ts"),
  },
  {
    name: "train",
    summary: "Train a policy by reinforcement learning",
    load: () => import("./train.ts"),
  },
];
