import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ChatMessage } from "../data/tokenizer.ts";
import { isVerlError, VerlError, type ErrorLocation } from "../errors/index.ts";
import { importSource } from "../registry/import-source.ts";
import { describeValue } from "../reward/sample-reward.ts";

/** What an agent is asked to do: one row of the dataset. */
export interface AgentTask {
  messages: readonly ChatMessage[];
  /** Every non-tensor column of the row. */
  row: Readonly<Record<string, unknown>>;
  /** The answer is for validation. */
  validate: boolean;
}

/** Where an agent finds the model that it works with: an OpenAI-compatible endpoint, for this one task. */
export interface AgentEndpoint {
  baseURL: string;
  apiKey: string;
  /** Any name will do; this one is the endpoint's own. */
  model: string;
  /** Aborts at the sample's deadline, and when the run ends. */
  signal: AbortSignal;
}

/**
 * An agent as its author has it, written with any client of OpenAI's API.
 * What it throws fails the attempt, which is tried again. Of what it leaves to itself, requests end with it, and errors that nobody
 * catches (of promises, timers, sockets) are counted; they end no run.
 * @returns Anything; it becomes the column `agent_result`. A number `reward` in it is the sample's score.
 */
export type AgentFunction = (task: AgentTask, endpoint: AgentEndpoint) => unknown;

/**
 * Loads the function `name` of a .ts or .js file; a relative path starts at the working directory.
 * @throws VerlError VERL_AGENT_FUNCTION
 */
export async function loadAgentFunction(path: string, name: string): Promise<AgentFunction> {
  const file = resolve(path);
  const location: ErrorLocation = { file };
  const there = await stat(file).catch(() => undefined);
  if (!there?.isFile()) {
    throw new VerlError("VERL_AGENT_FUNCTION", `The agent's file "${path}" does not exist.`, {
      location,
      hint: "Its path starts at the working directory.",
    });
  }
  let module: Readonly<Record<string, unknown>>;
  try {
    module = await importSource(pathToFileURL(file).href);
  } catch (cause) {
    if (isVerlError(cause)) throw cause;
    throw new VerlError("VERL_AGENT_FUNCTION", `The agent's file does not load: ${String(cause)}`, { location, cause });
  }
  const found = module[name];
  if (typeof found === "function") return found as AgentFunction;
  const what = name in module ? `"${name}", which is ${describeValue(found)}` : `no function "${name}"`;
  const functions = Object.keys(module).filter((key) => typeof module[key] === "function");
  throw new VerlError("VERL_AGENT_FUNCTION", `The agent's file exports ${what}.`, {
    location,
    hint: `It exports ${functions.length === 0 ? "no function" : `the functions ${functions.join(", ")}`}. Export an async function (task, { baseURL, apiKey }), and name it in \`function\`.`,
  });
}
