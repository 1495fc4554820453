import { provide } from "verl";
import { EmbeddedEngine } from "./embedded/embedded-engine.ts";

export const engines = [
  provide("engine", "embedded", {
    description: "Trains a Llama-style decoder in this process, on the chosen tensor backend.",
    create: EmbeddedEngine,
  }),
];
