import { describe, expect, it } from "@jest/globals";
import { loadConfig } from "../../core/config/load.ts";
import { errorOf, load, problemsOf, withFiles } from "./support.ts";

describe("loadConfig", () => {
  it("fills in every default and resolves those that follow another key", () => {
    const { config, notes } = load([
      "actor_rollout_ref.rollout.n=4",
      "data.max_response_length=8",
      "trainer.project_name=p",
    ]);
    expect(notes).toEqual([]);
    expect(config.actor_rollout_ref.rollout.response_length).toBe(config.data.max_response_length);
    expect(config.actor_rollout_ref.rollout.response_length).toBe(8);
    expect(config.trainer.default_local_dir).toBe("checkpoints/p/gsm8k");
    expect(config.algorithm.adv_estimator).toBe("gae");
    expect(config.actor_rollout_ref.actor.optim).toMatchObject({ lr: 1e-6, betas: [0.9, 0.999], eps: 1e-8 });
    expect(loadConfig({ schema: "sft" }).config.optim).toMatchObject({ lr: 1e-5, lr_scheduler_type: "cosine" });
  });

  it("knows where each value was written", () => {
    const { originOf } = load(
      ["data.train_batch_size=512"],
      "trainer:\n  logger: [console,\n    file]\nalgorithm: {gamma: 0.9}\n",
    );
    expect(originOf("data.train_batch_size")).toEqual({
      override: "data.train_batch_size=512",
      path: "data.train_batch_size",
    });
    expect(originOf("trainer.logger.1")).toEqual({ file: "run.yaml", line: 3, column: 5, path: "trainer.logger.1" });
    expect(originOf("algorithm.gamma")).toMatchObject({ file: "run.yaml", line: 4, column: 20 });
    expect(originOf("algorithm.lam")).toEqual({ path: "algorithm.lam" });
  });

  it("reports all problems at once, each with its place and a code frame", () => {
    const yaml = "algorithm:\n  adv_estimater: grpo\n  gamma: 1.5\ntrainer: {val_only: yes}\n";
    const error = errorOf(() => load(["data.shuffle=maybe", "nope"], yaml));
    expect(error.code).toBe("VERL_CONFIG_INVALID");
    const problems = problemsOf(() => load(["data.shuffle=maybe", "nope"], yaml));
    expect(
      problems.map(({ code, location: { path, line, column, override } }) => [code, path, line ?? override, column]),
    ).toEqual([
      ["VERL_CONFIG_OVERRIDE", undefined, "nope", 5],
      ["VERL_CONFIG_VALUE", "data.shuffle", "data.shuffle=maybe", undefined],
      ["VERL_CONFIG_VALUE", "algorithm.gamma", 3, 10],
      ["VERL_CONFIG_KEY_UNKNOWN", "algorithm.adv_estimater", 2, 3],
      ["VERL_CONFIG_VALUE", "trainer.val_only", 4, 21],
    ]);
    expect(error.message).toContain("The config has 5 problems; nothing was started.");
    expect(error.message).toContain("run.yaml:2:3  algorithm.adv_estimater  [VERL_CONFIG_KEY_UNKNOWN]");
    expect(error.message).toContain("Did you mean `algorithm.adv_estimator`?");
    expect(error.message).toContain("   > 2 |   adv_estimater: grpo\n       |   ^\n     3 |   gamma: 1.5");
    expect(error.message).toContain("YAML 1.2 reads yes as text; write true.");
    expect(error.message).toContain("it must be a number of at least 0 and at most 1");
  });

  it("gives a single problem its own code", () => {
    expect(errorOf(() => load(["trainer.seed=-1"]))).toMatchObject({
      code: "VERL_CONFIG_VALUE",
      message: "`trainer.seed` is -1; it must be an integer of at least 0.",
      location: { override: "trainer.seed=-1" },
    });
  });

  it("names a key of the right name in another section", () => {
    expect(errorOf(() => load(["adv_estimator=grpo"])).hint).toContain("`algorithm.adv_estimator`");
    expect(errorOf(() => load(["+algorithm.train_batch_size=3"])).hint).toContain("`data.train_batch_size`");
  });

  // Public reports, case 86.
  it("reads numbers of YAML as YAML 1.2 does, and types by the schema", () => {
    const lr = (text: string) =>
      load([], `actor_rollout_ref:\n  actor:\n    optim:\n      lr: ${text}\n`).config.actor_rollout_ref.actor.optim.lr;
    expect(["1e-6", "1.0e-6", "1E-6"].map(lr)).toEqual([1e-6, 1e-6, 1e-6]);
    expect(load([], "trainer:\n  experiment_name: '10e2'\n").config.trainer.experiment_name).toBe("10e2");
    expect(errorOf(() => load(["actor_rollout_ref.actor.optim.lr=abc"])).message).toBe(
      '`actor_rollout_ref.actor.optim.lr` is "abc"; it must be a number of at least 0.',
    );
    for (const value of ["inf", "nan", "1.5", "9007199254740993"]) {
      expect(errorOf(() => load([`trainer.total_epochs=${value}`])).message).toContain("an integer of at least 1");
    }
  });

  it("refuses aliases without end, and those that unfold to too much", () => {
    for (const yaml of ["a: &x [*x]", "a: &x {b: {c: *x}}", "a: &x\n  <<: *x"]) {
      const error = errorOf(() => load([], yaml));
      expect(JSON.stringify(error.details)).toContain("stands inside of what it names");
    }
    const bomb = Array.from(
      { length: 9 },
      (_, at) =>
        `k${at}: &k${at} [${Array(9)
          .fill(at === 0 ? "1" : `*k${at - 1}`)
          .join(", ")}]`,
    );
    expect(JSON.stringify(errorOf(() => load([], bomb.join("\n"))).details)).toContain("unfolds to more than");
  });

  it("wants rows to train on", () => {
    for (const override of ["data.train_files=null", "~data.train_files", "data.train_files=[]"]) {
      const error = errorOf(() => load([override]));
      expect(error).toMatchObject({ code: "VERL_DATA_EMPTY", location: { path: "data.train_files", override } });
      expect(errorOf(() => loadConfig({ schema: "sft", overrides: [override] })).code).toBe("VERL_DATA_EMPTY");
    }
    expect(errorOf(() => load(["data.train_max_samples=0"])).location?.path).toBe("data.train_max_samples");
    expect(errorOf(() => load(["data.val_max_samples=0"])).location?.path).toBe("data.val_max_samples");
    expect(load(["data.val_max_samples=0", "data.val_files=null"]).config.data.val_files).toEqual([]);
    // A plugin's dataset may make its rows itself.
    expect(load(["data.dataset=mine", "data.train_files=null"]).config.data.train_files).toEqual([]);
  });

  it("wants numbers finite, but for those that infinity switches off", () => {
    for (const path of ["actor.optim.lr", "actor.entropy_coeff", "rollout.temperature", "actor.grad_clip"]) {
      const key = `actor_rollout_ref.${path}`;
      const error = errorOf(() => load([`${key}=nan`]));
      expect(error).toMatchObject({ code: "VERL_CONFIG_VALUE", location: { path: key }, hint: "Numbers are finite." });
    }
    expect(errorOf(() => load(["actor_rollout_ref.actor.optim.lr=inf"])).message).toBe(
      "`actor_rollout_ref.actor.optim.lr` is inf; it must be a number of at least 0.",
    );
    expect(errorOf(() => load([], "algorithm: {gamma: .inf}")).location).toMatchObject({ file: "run.yaml", line: 1 });
    expect(errorOf(() => load(["actor_rollout_ref.actor.optim.betas=[nan,0.9]"])).message).toContain("betas.0");
    expect(errorOf(() => load(["actor_rollout_ref.actor.grad_clip=-inf"])).message).toContain("more than 0 or inf");
    const { actor } = load(["actor_rollout_ref.actor.grad_clip=inf"]).config.actor_rollout_ref;
    expect(actor.grad_clip).toBe(Infinity);
  });

  it("takes one item for a list, other spellings, and integers for names", () => {
    const { config } = load([
      "trainer.logger=console",
      "data.val_files=null",
      "trainer.resume_mode=path",
      "trainer.resume_from_path=x",
      "trainer.experiment_name=2024",
    ]);
    expect(config.trainer).toMatchObject({ logger: ["console"], resume_mode: "resume_path", experiment_name: "2024" });
    expect(config.data.val_files).toEqual([]);
    expect(errorOf(() => load(["trainer.logger=[1.10]"])).hint).toBe("Quote it to make it text.");
  });

  it("keeps names and pairs of bounds as they were written, also where they look like numbers", () => {
    const bounds = "algorithm.rollout_correction.rollout_rs_threshold";
    const names = load(["trainer.experiment_name=1.10", "trainer.project_name=2024_01"]).config.trainer;
    expect(names).toMatchObject({ experiment_name: "1.10", project_name: "2024_01" });
    const threshold = (text: string) =>
      load([`${bounds}=${text}`]).config.algorithm.rollout_correction.rollout_rs_threshold;
    expect(threshold("1000_1001")).toBe("1000_1001");
    expect(threshold("0.5_2")).toBe("0.5_2");
    expect(threshold("2.0")).toBe(2);
    const yaml = 'trainer: {experiment_name: 1.10, project_name: "${trainer.experiment_name}"}';
    expect(load([], yaml).config.trainer).toMatchObject({ experiment_name: "1.10", project_name: "1.10" });
    expect(load(["data.train_batch_size=1_024"]).config.data.train_batch_size).toBe(1024);
  });

  it("explains a leading zero, which YAML 1.1 read as an octal number", () => {
    const hint = "A leading zero makes it text, for it can mean an octal number; write 10 or, for the octal, 8.";
    expect(errorOf(() => load(["trainer.seed=010"])).hint).toBe(hint);
    expect(errorOf(() => load([], "trainer: {seed: 010}")).hint).toBe(hint);
    expect(load([], "trainer: {experiment_name: 007}").config.trainer.experiment_name).toBe("007");
  });

  it("notes None where null may be meant", () => {
    expect(load(["data.tokenizer=None"]).notes).toEqual([
      expect.objectContaining({ message: expect.stringContaining('the text "None"') }),
    ]);
    expect(errorOf(() => load(["data.seed=None"])).hint).toBe("Nothing is written null.");
  });

  it("lets plugins' options through, and keeps prototype keys data", () => {
    const { config } = load([
      "algorithm.adv_kwargs.beta=2",
      "+algorithm.adv_kwargs.deep={__proto__: 1}",
      "actor_rollout_ref.actor.policy_loss.own=[1]",
    ]);
    expect(JSON.stringify(config.algorithm.adv_kwargs)).toBe('{"beta":2,"deep":{"__proto__":1}}');
    expect(config.actor_rollout_ref.actor.policy_loss).toEqual({ loss_mode: "vanilla", own: [1] });
    expect(errorOf(() => load(["constructor=1"])).code).toBe("VERL_CONFIG_KEY_UNKNOWN");
    expect(errorOf(() => load([], "constructor: 1")).code).toBe("VERL_CONFIG_KEY_UNKNOWN");
  });

  it("names every spelling that a choice accepts", () => {
    const [problem] = problemsOf(() => load(["trainer.resume_mode=pth"]));
    expect(problem!.message).toContain('it must be one of "auto", "disable", "resume_path", "path".');
    expect(problem!.hint).toBe("Did you mean `path`?");
  });

  it("leaves nothing behind where ~ removes, and refuses where a value is needed", () => {
    const { config } = load(["~trainer.logger", "~data.seed", "~algorithm.adv_kwargs"]);
    expect([config.trainer.logger, config.data.seed, config.algorithm.adv_kwargs]).toEqual([[], null, {}]);
    expect(errorOf(() => load(["~trainer.seed"])).message).toContain("has to have a value");
  });

  it("reads moved keys at their new place and says so", () => {
    const { config, notes } = load(
      ["actor_rollout_ref.actor.optim.warmup_style=cosine", "trainer.val_generations_to_log_to_wandb=3"],
      "reward:\n  custom_reward_function: {path: r.ts}\n  num_workers: 2\n",
    );
    expect(config.actor_rollout_ref.actor.optim.lr_scheduler_type).toBe("cosine");
    expect(config.trainer.log_val_generations).toBe(3);
    expect(config.custom_reward_function.path).toBe("r.ts");
    expect(config.reward_model.num_workers).toBe(2);
    expect(notes.map(({ message }) => message)).toContain(
      "`actor_rollout_ref.actor.optim.warmup_style` is now `actor_rollout_ref.actor.optim.lr_scheduler_type`.",
    );
    expect(notes).toHaveLength(4);
  });

  it("accepts verl's keys without effect, with a note each, and even interpolates them", () => {
    const yaml = [
      "actor_rollout_ref:",
      "  actor:",
      "    _target_: verl.workers.config.FSDPActorConfig",
      "    fsdp_config: {param_offload: '${oc.env:NOT_SET}'}",
      "    profiler: {tool: '${oc.select:global_profiler.tool,null}'}",
      "  rollout: {n: '${actor_rollout_ref.rollout.tensor_model_parallel_size}', tensor_model_parallel_size: 2}",
      "hydra: {run: {dir: '${now:%Y}'}}",
    ].join("\n");
    const { config, notes } = load([], yaml);
    expect(config.actor_rollout_ref.rollout.n).toBe(2);
    expect(config.actor_rollout_ref.actor).not.toHaveProperty("fsdp_config");
    expect(notes.map(({ location }) => location.path)).toEqual([
      "actor_rollout_ref.actor._target_",
      "actor_rollout_ref.actor.fsdp_config",
      "actor_rollout_ref.actor.profiler",
      "actor_rollout_ref.rollout.tensor_model_parallel_size",
      "hydra",
    ]);
  });

  it("refuses what would train something else than is asked for", () => {
    expect(
      problemsOf(() =>
        load([
          "reward_model.enable=true",
          "actor_rollout_ref.rollout.temperature=0",
          "trainer.resume_mode=resume_path",
          "actor_rollout_ref.rollout.prompt_length=4",
          "actor_rollout_ref.hybrid_engine=false",
        ]),
      ).map(({ location }) => location.path),
    ).toEqual([
      "trainer.resume_mode",
      "actor_rollout_ref.hybrid_engine",
      "actor_rollout_ref.rollout.temperature",
      "actor_rollout_ref.rollout.prompt_length",
      "reward_model.enable",
    ]);
  });

  it("refuses roles in pools that there are not, and pools without ranks, without a role or with a name that is taken", () => {
    const problems = problemsOf(() =>
      load([
        "controller.resource_pool_spec={critic_pool: [1], ref_pool: [], rollout_pool: [1], spare: [1, 1]}",
        "controller.role_mapping={critic: critic_pool, ref: refpool, reward: actor_pool}",
      ]),
    );
    expect(problems.map(({ location, message }) => [location.path, /"(\w+)"/.exec(message)![1]])).toEqual([
      ["controller.resource_pool_spec", "ref_pool"],
      ["controller.resource_pool_spec", "rollout_pool"],
      ["controller.resource_pool_spec", "ref_pool"],
      ["controller.resource_pool_spec", "spare"],
      ["controller.role_mapping.ref", "refpool"],
    ]);
    expect(problems[3]).toMatchObject({
      message: '`controller.resource_pool_spec` gives the pool "spare", in which no role stands.',
      hint: "Set controller.role_mapping.critic=spare, or that of another role (ref, critic, reward), or leave the pool out.",
    });
  });

  it("refuses pools of more ranks than any cluster has, used or not", () => {
    const most = problemsOf(() =>
      load([
        "trainer.n_gpus_per_node=1000000000",
        "actor_rollout_ref.rollout.agent.num_workers=65537",
        "controller.resource_pool_spec={spare: [1000000000], all: [65535, 1]}",
      ]),
    );
    const ranks = most.filter(({ message }) => message.includes("at most"));
    expect(ranks.map(({ location, message }) => [location.path, message])).toEqual([
      ["trainer.n_gpus_per_node", "`trainer.n_gpus_per_node` gives 1000000000 ranks, and a pool has at most 65536."],
      ["actor_rollout_ref.rollout.agent.num_workers", expect.stringContaining("gives 65537 ranks to agent loops")],
      ["controller.resource_pool_spec", expect.stringContaining('gives 1000000000 ranks to the pool "spare"')],
    ]);
  });
});

describe("config files", () => {
  const from = (files: Record<string, string>, overrides: string[] = [], file = "run.yaml") =>
    withFiles(files, (directory) => loadConfig({ schema: "ppo", file, directory, overrides, env: {} }));

  it("merges what `extends` names; later wins, lists replace", () => {
    const { config, originOf } = from({
      "base/a.yaml": "trainer: {logger: [console, file], seed: 1}\nalgorithm: {adv_kwargs: {x: 1, y: 1}}\n",
      "base/b.yaml": "extends: ./a.yaml\ntrainer: {seed: 2}\n",
      "run.yaml": "extends: [base/b.yaml]\ntrainer: {logger: [console]}\nalgorithm: {adv_kwargs: {y: 2}}\n",
      "node_modules/pkg/conf/c.yaml": "trainer: {seed: 9}\n",
    });
    expect(config.trainer).toMatchObject({ logger: ["console"], seed: 2 });
    expect(config.algorithm.adv_kwargs).toEqual({ x: 1, y: 2 });
    expect(originOf("trainer.seed")).toMatchObject({ file: "base/b.yaml", line: 2 });
    const packaged = from({
      "run.yaml": "extends: pkg/conf/c.yaml\n",
      "node_modules/pkg/conf/c.yaml": "trainer: {seed: 9}\n",
    });
    expect(packaged.config.trainer.seed).toBe(9);
  });

  it("takes the preset of a package; plugins add up, where other lists replace", () => {
    const { config, originOf } = from({
      "node_modules/verl-preset-x/package.json": JSON.stringify({
        name: "verl-preset-x",
        verl: { preset: "./x.yaml" },
      }),
      "node_modules/verl-preset-x/x.yaml": "plugins: [verl-plugin-x, ./own.js]\ntrainer: {seed: 3}\n",
      "base.yaml": "plugins: [./own.js]\n",
      "run.yaml": "extends: [verl-preset-x, base.yaml]\nplugins: [./mine.ts, verl-plugin-x]\n",
    });
    expect(config.trainer.seed).toBe(3);
    expect(config.plugins).toEqual(["verl-plugin-x", "./own.js", "./own.js", "./mine.ts", "verl-plugin-x"]);
    expect(originOf("plugins.1").file).toBe("node_modules/verl-preset-x/x.yaml");
    expect(originOf("plugins.2").file).toBe("base.yaml");
  });

  it.each([
    ["verl-preset-none", "Run `npm install verl-preset-none`"],
    ["verl-plugin-bare", "has no preset; if it is a plugin, list it under `plugins:`"],
    ["verl-plugin-bare/none.yaml", "package/path/to/config.yaml"],
  ])("says what to do about `extends: %s`, which names no file", (name, hint) => {
    const files = { "node_modules/verl-plugin-bare/package.json": `{"name": "verl-plugin-bare", "verl": {}}` };
    const error = errorOf(() => from({ ...files, "run.yaml": `extends: ${name}\n` }));
    expect(error.message).toContain(`\`extends: ${name}\` names no file.`);
    expect(error.hint).toContain(hint);
  });

  it("prints the chain of files that build upon each other in a circle", () => {
    const error = errorOf(() =>
      from({ "run.yaml": "extends: b.yaml", "b.yaml": "extends: c.yaml", "c.yaml": "extends: run.yaml" }),
    );
    expect(error.code).toBe("VERL_CONFIG_CYCLE");
    expect(error.message).toContain("run.yaml → b.yaml → c.yaml → run.yaml");
  });

  it("composes Hydra's defaults lists: groups, packages, _self_, optional, options from the command line", () => {
    const files = {
      "run.yaml": [
        "defaults:",
        "  - ppo_trainer",
        "  - optim@actor_rollout_ref.actor.optim: fast",
        "  - algorithm: grpo",
        "  - optional extra: none",
        "  - _self_",
        "  - last",
        "trainer: {seed: 5, total_epochs: 5}",
      ].join("\n"),
      "optim/fast.yaml": "lr: 0.1\n",
      "optim/slow.yaml": "lr: 0.001\n",
      "algorithm/grpo.yaml": "defaults: [base]\nadv_estimator: grpo\n",
      "algorithm/base.yaml": "gamma: 0.5\n",
      "algorithm/rloo.yaml": "# @package _global_\nalgorithm: {adv_estimator: rloo}\n",
      "last.yaml": "trainer: {total_epochs: 6}\n",
    };
    const { config } = from(files);
    expect(config.actor_rollout_ref.actor.optim.lr).toBe(0.1);
    expect(config.algorithm).toMatchObject({ adv_estimator: "grpo", gamma: 0.5 });
    expect(config.trainer).toMatchObject({ seed: 5, total_epochs: 6 });
    const chosen = from(files, ["optim=slow", "algorithm=rloo", "trainer.seed=7"]).config;
    expect(chosen.actor_rollout_ref.actor.optim.lr).toBe(0.001);
    expect(chosen.algorithm).toMatchObject({ adv_estimator: "rloo", gamma: 1 });
    expect(chosen.trainer.seed).toBe(7);
  });

  it("says which file is missing, and where it was named", () => {
    expect(errorOf(() => from({}))).toMatchObject({
      code: "VERL_CONFIG_FILE",
      message: expect.stringContaining("run.yaml does not exist"),
    });
    expect(errorOf(() => from({ "run.yaml": "defaults:\n  - optim: slow\n" }))).toMatchObject({
      code: "VERL_CONFIG_FILE",
      message: expect.stringContaining("optim/slow.yaml does not exist"),
      location: { file: "run.yaml", line: 2 },
    });
    expect(errorOf(() => from({ "run.yaml": "a: 1\nextends: ./no.yaml\n" })).message).toContain(
      "`extends: ./no.yaml` names no file.",
    );
  });

  it("says what is not YAML, with line and column", () => {
    expect(errorOf(() => from({ "run.yaml": "trainer:\n  seed: [1\n" }))).toMatchObject({
      code: "VERL_CONFIG_FILE",
      location: { file: "run.yaml" },
    });
    expect(errorOf(() => from({ "run.yaml": "trainer: {seed: 1}\ntrainer: {seed: 2}\n" }))).toMatchObject({
      code: "VERL_CONFIG_FILE",
      message: expect.stringContaining("unique"),
      location: { line: 2, column: 1 },
    });
    expect(errorOf(() => from({ "run.yaml": "- 1\n" })).message).toContain("holds a list");
    expect(from({ "run.yaml": "" }).config.trainer.seed).toBe(0);
  });

  it("follows anchors and merge keys, and stops at an alias bomb", () => {
    const { config } = from({
      "run.yaml": "algorithm:\n  adv_kwargs: &k {a: 1, b: 1}\nreward_model:\n  reward_kwargs: {<<: *k, b: 2}\n",
    });
    expect(config.reward_model.reward_kwargs).toEqual({ a: 1, b: 2 });
    const rows = Array.from(
      { length: 8 },
      (_, i) => `    l${i + 1}: &l${i + 1} [${Array(10).fill(`*l${i}`).join(", ")}]`,
    );
    const bomb = `algorithm:\n  adv_kwargs:\n    l0: &l0 [x, x]\n${rows.join("\n")}\n`;
    expect(errorOf(() => from({ "run.yaml": bomb })).message).toContain("unfolds to more than");
  });

  it("takes --config-path and --config-name as Hydra does", () => {
    withFiles({ "conf/mine.yaml": "trainer: {seed: 3}\n" }, (directory) => {
      const seed = (configPath?: string, configName?: string) =>
        loadConfig({ schema: "ppo", directory, configPath, configName, env: {} }).config.trainer.seed;
      expect(seed("conf", "mine")).toBe(3);
      expect(seed("conf", "mine.yaml")).toBe(3);
      expect(seed("./config", "ppo_trainer.yaml")).toBe(0);
      expect(errorOf(() => seed("conf", "other")).message).toContain("conf/other.yaml does not exist");
    });
  });
});
