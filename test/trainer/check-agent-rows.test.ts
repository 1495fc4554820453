import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it, jest } from "@jest/globals";
import { AgentLoop, AgentParts } from "../../core/agent/index.ts";
import { createRunContainer, registries } from "../../core/registry/index.ts";
import { checkAgentRows } from "../../core/trainer/check-agent-rows.ts";
import { PpoTrainer } from "../../core/trainer/ppo-trainer.ts";
import { testInteractions } from "../agent/support/interactions.ts";
import { testTools, toolsFile } from "../agent/support/tools.ts";
import { errorOf, recordingLogger } from "../data/helpers.ts";
import { registerBuiltIns } from "./support/built-ins.ts";
import { ppoConfig, recordingStream, runFolder } from "./support/tiny-run.ts";

jest.setTimeout(300_000);

beforeAll(() => {
  registerBuiltIns();
  for (const { kind, key, entry } of [...testInteractions, ...testTools])
    registries[kind].register(key, entry as never);
});

/** The signal of a run that is not asked to stop. */
const RUNS = new AbortController().signal;
const ROLLOUT = "actor_rollout_ref.rollout";
const TOOL_AGENT = [`${ROLLOUT}.multi_turn.enable=true`];

/** What a run is refused with before it starts, whose fourth row has more fields; all others have those of `all`. */
async function refusal(own: object, overrides: readonly string[], { file = "train", all = {} } = {}): Promise<unknown> {
  const folder = runFolder();
  writeFileSync(`${folder}/users.yaml`, "interaction:\n  - {name: again, class_name: test-again}\n");
  writeFileSync(`${folder}/tools.yaml`, toolsFile("add", "ping"));
  const lines = readFileSync(`${folder}/train.jsonl`, "utf8").split("\n");
  const rows = lines.map((line, row) => ({ ...(JSON.parse(line) as object), ...all, ...(row === 3 && own) }));
  writeFileSync(`${folder}/${file}.jsonl`, rows.map((row) => JSON.stringify(row)).join("\n"));
  const given = overrides.map((override) => override.replace("FOLDER", folder));
  const val = file === "val" ? [`data.val_files=${folder}/val.jsonl`] : [];
  return errorOf(() => PpoTrainer.create(ppoConfig(folder, [...val, ...given]), { stream: recordingStream() }));
}

describe("a run is refused before it starts for a row that", () => {
  const USERS = [...TOOL_AGENT, `${ROLLOUT}.multi_turn.interaction_config_path=FOLDER/users.yaml`];
  const named = (name: string) => ({ interaction_kwargs: { name } });
  const ADD = [...TOOL_AGENT, `${ROLLOUT}.multi_turn.tool_config_path=FOLDER/tools.yaml`];

  it.each<[string, object, readonly string[], object, string, string]>([
    ["names no loop", { agent_name: "single_trun_agent" }, [], {}, "VERL_REGISTRY_KEY_UNKNOWN", '"single_turn_agent"'],
    ["names a loop by no text", { agent_name: 3 }, [], {}, "VERL_REGISTRY_KEY_UNKNOWN", "Available: "],
    ["names no interaction", named("agian"), USERS, named("again"), "VERL_AGENT_INTERACTION", "Did you mean again?"],
    [
      "lacks its interaction",
      named(null as never),
      USERS,
      named("again"),
      "VERL_AGENT_INTERACTION",
      "Rows name one in",
    ],
    ["selects no tool", { tool_selection: ["ad"] }, ADD, {}, "VERL_AGENT_TOOL", "Did you mean add?"],
    [
      "selects a tool of a run without",
      { tool_selection: ["add"] },
      TOOL_AGENT,
      {},
      "VERL_AGENT_TOOL",
      "The tools are none.",
    ],
    [
      "has arguments of another form",
      { tools_kwargs: { add: 3 } },
      ADD,
      {},
      "VERL_AGENT_TOOL",
      "It is a column of the row",
    ],
  ])("%s", async (_, own, overrides, all, code, hint) => {
    const error = (await refusal(own, overrides, { all })) as Error & { hint: string };
    expect(error).toMatchObject({ code, details: { row: 3 } });
    expect(error.message).toMatch(/row 3 of the (training data|dataset)\.$/);
    expect(error.hint).toContain(hint);
  });

  it("validates", async () => {
    const error = await refusal({ agent_name: "single_trun_agent" }, ["trainer.test_freq=1"], { file: "val" });
    expect(error).toMatchObject({
      message:
        'A row\'s agent_name names no loop: No agent loop is registered as "single_trun_agent". It is row 3 of the validation data.',
    });
    expect((error as { location?: object }).location).toBeUndefined();
  });
});

it("rows of other loops name what they like, and tools that the run has not are told of before it starts", async () => {
  const log = recordingLogger();
  const config = ppoConfig(runFolder(), TOOL_AGENT);
  const parts = new AgentParts(createRunContainer({}), config, log);
  const rows = [
    { agent_name: "single_turn_agent", interaction_kwargs: { name: "nobody" }, tool_selection: ["nothing"] },
    { tools_kwargs: { calculator: {} } },
  ];
  await checkAgentRows({ length: 2, row: (at: number) => rows[at] as never }, "training", parts, "tool_agent", RUNS);
  expect(log.lines.join()).toContain('Rows have tools_kwargs for "calculator", which is no tool of this run');
});

it("rows that are costly are looked at for some seconds, the first in any case", async () => {
  const parts = new AgentParts(createRunContainer({}), ppoConfig(runFolder(), TOOL_AGENT), recordingLogger());
  let now = 0;
  const clock = jest.spyOn(performance, "now").mockImplementation(() => now);
  const read: number[] = [];
  const row = (index: number): never => {
    read.push(index);
    now += 6000;
    return { index } as never;
  };
  await checkAgentRows({ length: 3, row }, "training", parts, "tool_agent", RUNS);
  clock.mockRestore();
  expect(read).toEqual([0]);
});

it("rows of other loops are prompted with those of their selected tools that the run has", async () => {
  const folder = runFolder();
  writeFileSync(`${folder}/tools.yaml`, toolsFile("add", "ping"));
  const path = `${folder}/tools.yaml`;
  const config = ppoConfig(folder, [...TOOL_AGENT, `${ROLLOUT}.multi_turn.tool_config_path=${path}`]);
  const parts = new AgentParts(createRunContainer({}), config, recordingLogger());
  const tools = await parts.promptTools(path, "tool_agent");
  const namesOf = (row: object) =>
    tools({ ...row }).map((schema) => (schema as { function: { name: string } }).function.name);
  const agent_name = "single_turn_agent";
  expect(namesOf({ agent_name, tool_selection: ["browser", "ping"] })).toEqual(["ping"]);
  expect(namesOf({ agent_name, extra_info: { tool_selection: "browser" } })).toEqual(["add", "ping"]);
  expect(namesOf({ agent_name: "no_such", tool_selection: ["browser"] })).toEqual([]);
  for (const row of [{}, { agent_name: "tool_agent" }])
    expect(() => tools({ ...row, tool_selection: ["browser"] })).toThrow(
      'names "browser", which is no tool of this run',
    );
});

it("a row of validation data does not matter to a run that never validates", async () => {
  const folder = runFolder();
  writeFileSync(`${folder}/val.jsonl`, JSON.stringify({ prompt: 3 }));
  const create = (...more: string[]) =>
    PpoTrainer.create(ppoConfig(folder, [`data.val_files=${folder}/val.jsonl`, ...more]), {
      stream: recordingStream(),
    });
  for (const asked of ["test_freq=1", "val_before_train=true", "val_only=true"])
    expect(await errorOf(() => create(`trainer.${asked}`))).toMatchObject({ code: "VERL_DATA_COLUMN_MISSING" });
  expect(await (await create("trainer.total_training_steps=1")).fit()).toMatchObject({ step: 1 });
});

describe("a loop whose own check of rows", () => {
  const check = async (checkRow: unknown, signal = RUNS): Promise<void> => {
    const create = class extends AgentLoop {
      static override checkRow = checkRow as never;
      run = (): never => undefined as never;
    };
    const key = `test-${Math.random().toString(36).slice(2)}`;
    registries.agent_loop.register(key, { description: "Checks.", create }, { source: "some-package" });
    const parts = new AgentParts(createRunContainer({}), ppoConfig(runFolder(), TOOL_AGENT), recordingLogger());
    const row = (index: number): never => ({ index, agent_name: index === 1 ? key : "single_turn_agent" }) as never;
    await checkAgentRows({ length: 2, row }, "training", parts, "tool_agent", signal);
  };
  const broken = new TypeError("no such field");

  it.each<[string, unknown, string]>([
    [
      "throws",
      () => {
        throw broken;
      },
      "no such field",
    ],
    ["rejects", () => Promise.reject(broken), "no such field"],
    ["is no function", true, "its checkRow is a boolean, not a function"],
    [
      "rejects by a promise of another library",
      () => ({ then: (_: unknown, no: (error: Error) => void) => no(broken) }),
      "no such field",
    ],
  ])("%s is named with its package and the row", async (_, checkRow, reason) => {
    expect(await errorOf(() => check(checkRow))).toMatchObject({
      code: "VERL_ENTRY_FAILED",
      message: expect.stringMatching(
        new RegExp(
          `^The agent loop "test-\\w+" of some-package failed: .*${reason}\\. It is row 1 of the training data\\.$`,
        ),
      ),
      details: { kind: "agent_loop", row: 1 },
      location: { plugin: "some-package" },
    });
  });

  it("never settles is left once the run is asked to stop", async () => {
    const stop = new AbortController();
    const reason = new Error("Ctrl-C");
    const never = (): Promise<void> => {
      stop.abort(reason);
      return new Promise(() => undefined);
    };
    expect(await errorOf(() => check(never, stop.signal))).toBe(reason);
  });
});
