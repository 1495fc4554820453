import { readConfig } from "../config/load.ts";
import {
  ABORT_SIGNAL,
  CONFIG,
  createLogger,
  createRunContainer,
  LOGGER,
  METRICS,
  RNG,
  TOKENIZER,
  type RunContainer,
  type TokenValues,
} from "../registry/index.ts";
import { createRng } from "../tensor/index.ts";
import { letterTokenizer } from "./letter-tokenizer.ts";

/** A container as a run has it: the default config, a tokenizer of letters, and `more`. */
export function testContainer(more: TokenValues = {}): RunContainer {
  return createRunContainer({
    [ABORT_SIGNAL]: new AbortController().signal,
    [CONFIG]: readConfig({ schema: "ppo" }).loaded.config,
    [LOGGER]: createLogger({ level: "silent" }),
    [METRICS]: { add: () => undefined },
    [RNG]: createRng(0),
    [TOKENIZER]: letterTokenizer,
    ...more,
  });
}
