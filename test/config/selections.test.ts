import { beforeAll, describe, expect, it } from "@jest/globals";
import { configJsonSchema } from "../../core/config/json-schema.ts";
import { loadRunConfig } from "../../core/config/run-config.ts";
import { validateSelections } from "../../core/config/selections.ts";
import { isVerlError } from "../../core/errors/index.ts";
import { loadPlugins, registries, type EntryMeta, type Kind } from "../../core/registry/index.ts";
import { clearRegistries } from "../registry/helpers.ts";
import { load, problemsOf, withFiles } from "./support.ts";

const option = (rule: object) => ({
  type: "object",
  additionalProperties: false,
  properties: { strength: { description: "How much.", ...rule } },
});

/** Entries that no run could use, with what the config has to know of them. */
function register(kind: Kind, key: string, optionsSchema?: object): void {
  const entry = {
    description: `The ${key} of this test.`,
    optionsSchema,
    compute: () => undefined,
    create: class {},
  } as unknown as EntryMeta;
  (registries[kind] as { register(key: string, entry: EntryMeta): void }).register(key, entry);
}

beforeAll(async () => {
  await loadPlugins([]);
  register("adv_estimator", "config_test_grpo", option({ type: "number", minimum: 0, default: 1 }));
  register("adv_estimator", "config_test_plain");
  register("policy_loss", "config_test_loss", option({ enum: ["low", "high"], default: "low" }));
  register("policy_loss", "config_test_other", {
    ...option({}),
    properties: { others_own: { type: "number", default: 1, description: "Of the other." } },
  });
  register("kl_penalty", "config_test_kl");
});

const ADV = "algorithm.adv_estimator";
const LOSS = "actor_rollout_ref.actor.policy_loss";
const chosen = [`${ADV}=config_test_grpo`, `${LOSS}.loss_mode=config_test_loss`];

describe("validateSelections", () => {
  it("accepts registered keys with valid options; those of another loss in the shared section lie idle", () => {
    const loaded = load([
      ...chosen,
      "algorithm.adv_kwargs.strength=2",
      `${LOSS}.strength=high`,
      `${LOSS}.others_own=3`,
      `${LOSS}.clip_cov_lb=1`,
      "algorithm.kl_penalty=config_test_kl+",
    ]);
    expect(validateSelections(loaded).config).toEqual(loaded.config);
  });

  it("reports options that do not fit each other", () => {
    const [keys, weights] = ["reward_keys=[format,correct]", "reward_weights=[1]"].map(
      (set) => `algorithm.adv_kwargs.${set}`,
    );
    const [problem, ...others] = problemsOf(() => validateSelections(load([`${ADV}=gdpo`, keys!, weights!])));
    expect(others).toEqual([]);
    expect(problem).toMatchObject({
      code: "VERL_OPTIONS_INVALID",
      message: expect.stringContaining("reward_weights has 1 numbers for 2 reward_keys (format, correct)"),
      location: { path: "algorithm.adv_kwargs.reward_weights", override: weights },
    });
  });

  it("reports every unknown key and wrong option at its own place", () => {
    const yaml = `algorithm:\n  adv_estimator: config_test_grop\n  kl_penalty: nope\nactor_rollout_ref:\n  actor:\n    policy_loss:\n      loss_mode: config_test_loss\n      strength: hihg\n      strenght: 1\n`;
    const problems = problemsOf(() => validateSelections(load(["algorithm.use_kl_in_reward=true"], yaml)));
    const at = problems.map(({ code, location: { file, line, path } }) => [code, file, line, path]);
    expect(at).toEqual(
      expect.arrayContaining([
        ["VERL_REGISTRY_KEY_UNKNOWN", "run.yaml", 2, ADV],
        ["VERL_REGISTRY_KEY_UNKNOWN", "run.yaml", 3, "algorithm.kl_penalty"],
        ["VERL_OPTIONS_INVALID", "run.yaml", 8, `${LOSS}.strength`],
        ["VERL_OPTIONS_INVALID", "run.yaml", 9, `${LOSS}.strenght`],
      ]),
    );
    expect(at).toHaveLength(4);
    expect(problems[0]!.hint).toContain('Did you mean "config_test_grpo"');
  });

  it("leaves a default alone that nobody wrote and nothing reads", () => {
    const [store, key] = [globalThis as Record<symbol, unknown>, Symbol.for("verl.registry.1")];
    const full = store[key];
    clearRegistries();
    try {
      register("kl_penalty", "config_test_kl");
      expect(() => validateSelections(load([]))).not.toThrow();
      expect(() => validateSelections(load(["algorithm.kl_penalty=nope"]))).toThrow(/No KL estimator/);
    } finally {
      store[key] = full;
    }
  });

  describe("of agent loops that a file names", () => {
    const AGENT = "actor_rollout_ref.rollout.agent";
    const agents = (entries: string, loop: string): ReturnType<typeof load> =>
      withFiles({ "agents.yaml": `agent_loops:\n${entries}` }, (folder) => {
        const options = [
          `${AGENT}.agent_loop_config_path=${folder}/agents.yaml`,
          `${AGENT}.default_agent_loop=${loop}`,
        ];
        return validateSelections(load([...chosen, ...options]));
      });
    const calc = "  - {name: calc_agent, _target_: tool_agent}\n";

    it("takes them as the default, beside the keys of the registry", () => {
      for (const loop of ["calc_agent", "tool_agent"]) {
        expect(agents(calc, loop).config.actor_rollout_ref.rollout.agent.default_agent_loop).toBe(loop);
      }
    });

    it("suggests the nearest of both", () => {
      const hints = (loop: string): string => problemsOf(() => agents(calc, loop))[0]!.hint!;
      expect(hints("calc_agnet")).toMatch(/Did you mean "calc_agent"\?[^]*calc_agent \([^)]*agents\.yaml\)/);
      expect(hints("tool_agnet")).toContain('Did you mean "tool_agent"?');
    });

    it.each([
      ["an entry without a name", "  - {_target_: tool_agent}\n", "VERL_AGENT_FILE"],
      ["a target that nothing goes by", "  - {name: a, _target_: tol_agent}\n", "VERL_REGISTRY_KEY_UNKNOWN"],
      [
        "an option that the loop does not have",
        "  - {name: a, _target_: tool_agent, nope: 1}\n",
        "VERL_OPTIONS_INVALID",
      ],
    ])("refuses %s before any run, and says in which file", (_what, entry, code) => {
      const [problem, ...others] = problemsOf(() => agents(calc + entry, "calc_agent"));
      expect(problem).toMatchObject({ code, location: { path: `${AGENT}.agent_loop_config_path` } });
      expect(others).toEqual([]);
    });

    it("refuses two of one name, and says where both are", () => {
      const [problem, ...others] = problemsOf(() => agents(calc + calc, "calc_agent"));
      expect(problem).toMatchObject({
        code: "VERL_AGENT_FILE",
        message: expect.stringContaining('"calc_agent": entry 1 (line 2) and entry 2 (line 3)') as unknown,
        location: { line: 3, path: `${AGENT}.agent_loop_config_path` },
      });
      expect(others).toEqual([]);
    });

    it("refuses a file that is not there", () => {
      const missing = load([...chosen, `${AGENT}.agent_loop_config_path=/nowhere/agents.yaml`]);
      expect(problemsOf(() => validateSelections(missing))).toMatchObject([{ code: "VERL_AGENT_FILE" }]);
    });
  });

  describe("of the tools and the simulated users that files name", () => {
    const MULTI_TURN = "actor_rollout_ref.rollout.multi_turn";
    const wrong = (files: Record<string, string>, ...options: string[]) =>
      withFiles(files, (folder) => {
        const there = options.map((option) => option.replace("=/", `=${folder}/`));
        return problemsOf(() => validateSelections(load([...chosen, ...there])));
      });
    const tools = `${MULTI_TURN}.tool_config_path`;
    const users = `${MULTI_TURN}.interaction_config_path`;

    it("refuses files that are not there", () => {
      const problems = wrong({}, `${tools}=/none.yaml`, `${users}=/none.yaml`, "data.tool_config_path=/other.yaml");
      expect(problems.map(({ code, location: { path } }) => [code, path])).toEqual([
        ["VERL_AGENT_FILE", tools],
        ["VERL_AGENT_FILE", users],
        ["VERL_AGENT_FILE", "data.tool_config_path"],
      ]);
    });

    it.each([
      ["tools: [{ class_name: calculater }]", "VERL_REGISTRY_KEY_UNKNOWN", "calculater"],
      [
        "tools: [{ class_name: search, config: { retrieval_service_url: 'http://x', top_k: 3 } }]",
        "VERL_OPTIONS_INVALID",
        "topk",
      ],
      ["tools: [{ class_name: calculator, timout_s: 3 }]", "VERL_AGENT_FILE", "timout_s"],
      [
        "tools: [{ class_name: mcp, config: { mcp: { mcp_servers_config_path: none.json } } }]",
        "VERL_OPTIONS_INVALID",
        '`mcp.mcp_servers_config_path` of "mcp" is "none.json", where there is no file',
      ],
    ])("refuses a tools file with %s", (text, code, message) => {
      const [problem] = wrong({ "tools.yaml": text }, `${tools}=/tools.yaml`);
      expect(problem).toMatchObject({ code, message: expect.stringContaining(message) as unknown });
    });

    const named = (parameters: string, name = "c") =>
      `{ class_name: calculator, tool_schema: { type: function, function: { name: ${name}, parameters: ${parameters} } } }`;

    it("refuses two tools of one name, where the file gives it", () => {
      const entry = `  - ${named("{ type: object }")}\n`;
      const [problem] = wrong({ "tools.yaml": `tools:\n${entry}${entry}` }, `${tools}=/tools.yaml`);
      expect(problem).toMatchObject({
        code: "VERL_AGENT_FILE",
        message: expect.stringContaining('Two tools are called "c": entry 1 (line 2) and entry 2 (line 3)') as unknown,
        location: { line: 3, path: tools },
      });
    });

    it.each(["{ class_name: gsm8k }", "{ class_name: gsm8k, name: u }"])(
      "refuses two simulated users of one name: %s",
      (entry) => {
        const problems = wrong({ "users.yaml": `[${entry}, ${entry}]` }, `${users}=/users.yaml`);
        expect(problems).toMatchObject([{ code: "VERL_AGENT_FILE", location: { path: users } }]);
        expect(problems[0]!.message).toContain("entry 1 (line 1) and entry 2 (line 1)");
      },
    );

    it.each([
      ["{ type: objct }", '`type` must be equal to one of the allowed values: [^]*Did you mean "object"\\?'],
      ["{ type: object, required: a }", "`required` must be array"],
      ["{ type: object, properties: { a: string } }", "`properties.a` must be object"],
      ["{ $schema: 'https://json-schema.org/draft/2020-12/schema', items: [{}] }", "`items` must be object,boolean"],
    ])("refuses parameters that are no JSON Schema: %s", (parameters, hint) => {
      const [problem] = wrong({ "tools.yaml": `tools: [${named(parameters)}]` }, `${tools}=/tools.yaml`);
      expect(problem).toMatchObject({ code: "VERL_AGENT_TOOL", location: { path: tools } });
      expect(problem!.hint).toMatch(new RegExp(hint));
    });

    it("takes parameters of each dialect, and of one that it does not know", () => {
      const texts = [
        "{ $schema: 'https://json-schema.org/draft/2020-12/schema', type: array, prefixItems: [{}] }",
        "{ $schema: 'http://json-schema.org/draft-07/schema', type: array, items: [{}] }",
        "{ $schema: 'http://json-schema.org/draft-04/schema#', type: number, minimum: 1, exclusiveMinimum: true }",
      ].map((parameters, index) => named(parameters, `c${index}`));
      withFiles({ "tools.yaml": `tools: [${texts.join(", ")}]` }, (folder) => {
        expect(() => validateSelections(load([...chosen, `${tools}=${folder}/tools.yaml`]))).not.toThrow();
      });
    });

    it("refuses a simulated user that nothing goes by", () => {
      const problems = wrong({ "users.yaml": "interaction: [{ class_name: gsm8 }]" }, `${users}=/users.yaml`);
      expect(problems).toMatchObject([{ code: "VERL_REGISTRY_KEY_UNKNOWN", location: { path: users } }]);
    });

    it.each([tools, users, "actor_rollout_ref.rollout.agent.agent_loop_config_path"])(
      "leaves %s to the config's own checks where it is no text",
      async (path) => {
        const run = loadRunConfig({ schema: "ppo", overrides: [`${path}=[a]`], env: {} });
        await expect(run).rejects.toMatchObject({ code: "VERL_CONFIG_VALUE" });
      },
    );
  });

  it("refuses an agent whose file is not there", () => {
    const AGENT = "actor_rollout_ref.rollout.agent";
    const entry = "agent_loops: [{ name: mine, _target_: gateway_agent, path: nowhere/agent.ts }]";
    withFiles({ "agents.yaml": entry }, (folder) => {
      const problems = problemsOf(() =>
        validateSelections(load([...chosen, `${AGENT}.agent_loop_config_path=${folder}/agents.yaml`])),
      );
      expect(problems).toMatchObject([
        {
          code: "VERL_OPTIONS_INVALID",
          message: expect.stringContaining('"nowhere/agent.ts", where there is no file') as unknown,
          location: { path: `${AGENT}.agent_loop_config_path` },
        },
      ]);
    });
  });

  it("lets the embedded engines stand in for verl's, and leaves its trackers out, aloud", () => {
    const { config, notes } = validateSelections(
      load([
        ...chosen,
        "actor_rollout_ref.rollout.name=vllm",
        "actor_rollout_ref.actor.strategy=fsdp2",
        "trainer.logger=[console,wandb]",
      ]),
    );
    expect(config.actor_rollout_ref.rollout.name).toBe("embedded");
    expect([
      config.actor_rollout_ref.actor.strategy,
      config.actor_rollout_ref.ref.strategy,
      config.critic.strategy,
    ]).toEqual(["embedded", "embedded", "embedded"]);
    expect(config.trainer.logger).toEqual(["console"]);
    expect(notes.map(({ message }) => message)).toContain(
      "`actor_rollout_ref.rollout.name: vllm` is verl's own rollout engine; `embedded` is used instead.",
    );
  });
});

describe("loadRunConfig", () => {
  it("loads the plugins of the config and reports problems of all stages together", async () => {
    const attempt = loadRunConfig({
      schema: "ppo",
      overrides: [`${ADV}=config_test_gone`, "data.shuffle=7", "nonsense"],
      env: {},
    });
    const error = await attempt.catch((thrown: unknown) => thrown);
    if (!isVerlError(error)) throw error;
    expect(
      (error as { details?: { problems?: { code: string }[] } }).details?.problems?.map(({ code }) => code),
    ).toEqual(["VERL_CONFIG_OVERRIDE", "VERL_CONFIG_VALUE", "VERL_REGISTRY_KEY_UNKNOWN"]);
  });

  it("refuses what no run could do, beside other problems", async () => {
    const attempt = (...overrides: string[]) =>
      loadRunConfig({ schema: "ppo", overrides: [`${ADV}=grpo`, ...overrides], env: {} });
    await expect(attempt()).rejects.toMatchObject({ code: "VERL_TRAIN_NEEDS_GROUPS" });
    await expect(attempt("foo=1")).rejects.toThrow(/VERL_TRAIN_NEEDS_GROUPS/);
    const rest = attempt("actor_rollout_ref.rollout.n=4", "trainer.val_only=true", "data.val_files=null");
    await expect(rest).rejects.toMatchObject({ code: "VERL_DATA_EMPTY" });
    const bigger = attempt("actor_rollout_ref.rollout.n=4", "data.gen_batch_size=7");
    await expect(bigger).rejects.toMatchObject({ code: "VERL_TRAIN_UNAVAILABLE" });
  });

  it("says which line names a plugin that is not there", async () => {
    const attempt = loadRunConfig({ schema: "ppo", overrides: ["plugins=[./nowhere.ts]"], env: {} });
    await expect(attempt).rejects.toMatchObject({
      hint: expect.stringContaining("start from the working directory"),
      location: { override: "plugins=[./nowhere.ts]" },
    });
  });
});

describe("the JSON Schema with plugins", () => {
  it("names the registered keys with their descriptions, and the options of the chosen one", () => {
    const schema = JSON.stringify(configJsonSchema("ppo"));
    expect(schema).toContain('{"const":"config_test_plain","description":"The config_test_plain of this test."}');
    expect(schema).toContain(
      '"if":{"properties":{"adv_estimator":{"const":"config_test_grpo"}},"required":["adv_estimator"]}',
    );
    expect(schema).toContain('"then":{"properties":{"adv_kwargs":{"properties":{"strength"');
  });
});
