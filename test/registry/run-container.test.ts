import { beforeEach, describe, expect, it } from "@jest/globals";
import { AgentLoop } from "../../core/agent/agent-loop.ts";
import { ToolParser, type ParsedAnswer, type ToolParserStream } from "../../core/agent/tool-parser.ts";
import {
  CONFIG,
  createLogger,
  createRunContainer,
  inject,
  LOGGER,
  OPTIONS,
  registries,
  type Logger,
} from "../../core/registry/index.ts";
import { RewardManager } from "../../core/reward/reward-manager.ts";
import { clearRegistries, failure } from "./helpers.ts";

const OWN = Symbol("OWN");
const nothing: ParsedAnswer = { content: "", reasoning: "", calls: [], errors: [] };

abstract class Quiet extends ToolParser {
  override parse(): ParsedAnswer {
    return nothing;
  }
  stream = (): ToolParserStream => ({ push: () => undefined, end: () => nothing });
}

class Helper {
  constructor(@inject(CONFIG) readonly config: unknown) {}
}

class Full extends Quiet {
  constructor(
    @inject(LOGGER) readonly log: Logger,
    @inject(OPTIONS) readonly options: { depth: number },
    @inject(Helper) readonly helper: Helper,
  ) {
    super();
  }
}

const optionsSchema = {
  type: "object",
  additionalProperties: false,
  properties: { depth: { type: "integer", description: "Depth.", default: 3 } },
} as const;

beforeEach(clearRegistries);

describe("decorators", () => {
  it("register the class under the kind of their base, with what is said about it", () => {
    @ToolParser.register("mine", { description: "Reads nothing.", aliases: ["my"], source: "verl-plugin-x@1.0.0" })
    class Mine extends Quiet {}
    expect(registries.tool_parser.find("my")).toMatchObject({
      key: "mine",
      source: "verl-plugin-x@1.0.0",
      entry: { create: Mine, description: "Reads nothing." },
    });
  });

  it("are there for every kind of class", () => {
    @RewardManager.register("manager")
    class Manager extends RewardManager {
      score = () => Promise.resolve([]);
    }
    @AgentLoop.register("loop")
    class Loop extends AgentLoop {
      run = () => Promise.reject(new Error("never run"));
    }
    expect(registries.reward_manager.resolve("manager").create).toBe(Manager);
    expect(registries.agent_loop.resolve("loop").create).toBe(Loop);
    expect(registries.agent_loop.resolve("loop").description).toBe("The agent loop of class Loop.");
  });

  it("take what a standard decorator is called with", () => {
    class Mine extends Quiet {}
    ToolParser.register("mine")(Mine, { kind: "class", name: "Mine" });
    expect(registries.tool_parser.has("mine")).toBe(true);
  });
});

describe("a run's container", () => {
  beforeEach(() => registries.tool_parser.register("full", { description: "All of it.", optionsSchema, create: Full }));

  it("constructs a class from the run's values, its options and its own helpers", () => {
    const [log, config] = [createLogger({ level: "silent" }), { seed: 1 }];
    const run = createRunContainer({ [LOGGER]: log, [CONFIG]: config });
    const made = run.create("tool_parser", "full", { options: { depth: 5 } }) as Full;
    expect(made.log).toBe(log);
    expect(made.options).toEqual({ depth: 5 });
    expect(made.helper.config).toBe(config);
    expect((run.create("tool_parser", "full") as Full).options).toEqual({ depth: 3 });
  });

  it("is not seen by another run, nor by the first run's later values", () => {
    const log = createLogger({ level: "silent" });
    const [one, two] = [1, 2].map((seed) => createRunContainer({ [LOGGER]: log, [CONFIG]: { seed } }));
    const seedOf = (run: typeof one) => (run!.create("tool_parser", "full") as Full).helper.config;
    expect([seedOf(one), seedOf(two), seedOf(one)]).toEqual([{ seed: 1 }, { seed: 2 }, { seed: 1 }]);
    one!.bind({ [OWN]: "only here" });
    class Wants extends Quiet {
      constructor(@inject(OWN) readonly own: string) {
        super();
      }
    }
    registries.tool_parser.register("wants", { description: "x", create: Wants });
    expect((one!.create("tool_parser", "wants") as Wants).own).toBe("only here");
    expect(() => two!.create("tool_parser", "wants")).toThrow("asks for OWN, which this run does not have");
  });

  it("gives values for one instance to that instance alone", async () => {
    class Wants extends Quiet {
      constructor(@inject(OWN) readonly own: string) {
        super();
      }
    }
    registries.tool_parser.register("wants", { description: "x", create: Wants });
    const run = createRunContainer();
    expect((run.create("tool_parser", "wants", { values: { [OWN]: "once" } }) as Wants).own).toBe("once");
    expect((await failure(() => run.create("tool_parser", "wants"))).code).toBe("VERL_INJECT_UNRESOLVED");
  });

  it("gives a class without a constructor the parameters of its base", () => {
    class Derived extends Full {}
    registries.tool_parser.register("derived", { description: "x", optionsSchema, create: Derived });
    const run = createRunContainer({ [LOGGER]: createLogger({ level: "silent" }), [CONFIG]: "config" });
    expect(run.create("tool_parser", "derived")).toMatchObject({ options: { depth: 3 }, helper: { config: "config" } });
  });

  it("names the parameter, the class and the plugin when a value is missing", async () => {
    const error = await failure(() => createRunContainer({ [CONFIG]: {} }).create("tool_parser", "full"));
    expect(error.code).toBe("VERL_INJECT_UNRESOLVED");
    expect(error.message).toBe(
      'Parameter 1 of the constructor of Full asks for LOGGER, which this run does not have, for the tool parser "full" of this program.',
    );
  });

  it("looks through the helpers of a class too", async () => {
    const run = createRunContainer({ [LOGGER]: createLogger({ level: "silent" }) });
    const error = await failure(() => run.create("tool_parser", "full"));
    expect(error.message).toContain("constructor of Helper");
    expect(error.message).toContain("asks for CONFIG");
  });

  it("tells of a parameter without @inject", async () => {
    class Bare extends Quiet {
      constructor(readonly what: string) {
        super();
      }
    }
    registries.tool_parser.register("bare", { description: "x", create: Bare });
    const error = await failure(() => createRunContainer().create("tool_parser", "bare"));
    expect(error.code).toBe("VERL_INJECT_UNRESOLVED");
    expect(error.message).toContain("has no `@inject(TOKEN)`");
  });

  it("tells of helpers that ask for each other", async () => {
    class First {
      constructor(readonly second: unknown) {}
    }
    class Second {
      constructor(@inject(First) readonly first: First) {}
    }
    inject(Second)(First, undefined, 0);
    class Wants extends Quiet {
      constructor(@inject(First) readonly first: First) {
        super();
      }
    }
    registries.tool_parser.register("wants", { description: "x", create: Wants });
    const error = await failure(() => createRunContainer().create("tool_parser", "wants"));
    expect(error.message).toContain("which asks for it in turn: First → Second → First");
  });

  it("keeps what a constructor throws as the cause, and its own errors as they are", async () => {
    const cause = new Error("no such file");
    class Throws extends Quiet {
      constructor() {
        super();
        throw cause;
      }
    }
    registries.tool_parser.register("throws", { description: "x", create: Throws }, { source: "verl-plugin-x@1.0.0" });
    const error = await failure(() => createRunContainer().create("tool_parser", "throws"));
    expect(error.code).toBe("VERL_INJECT_FAILED");
    expect(error.message).toBe(
      'The constructor of the tool parser "throws" of verl-plugin-x@1.0.0 failed: no such file',
    );
    expect(error.cause).toBe(cause);
  });

  it("validates options before anything is constructed", async () => {
    const error = await failure(() => createRunContainer().create("tool_parser", "full", { options: { dept: 1 } }));
    expect(error.code).toBe("VERL_OPTIONS_INVALID");
  });
});

describe("state of plugins", () => {
  class Counter extends Quiet {
    seen = 0;
    saveState = (): unknown => ({ seen: this.seen });
    loadState(state: unknown): void {
      this.seen = (state as { seen: number }).seen;
    }
  }

  it("is saved by kind, key and number, and comes back to instances made before and after", () => {
    registries.tool_parser.register("count", { description: "Counts.", create: Counter });
    registries.tool_parser.register("quiet", {
      description: "Has no state.",
      create: class extends Quiet {},
    });
    const run = createRunContainer();
    const [first, second] = [run.create("tool_parser", "count"), run.create("tool_parser", "count")] as Counter[];
    run.create("tool_parser", "quiet");
    [first!.seen, second!.seen] = [4, 7];
    const states = run.saveStates();
    expect(states).toEqual({ "tool_parser/count": { seen: 4 }, "tool_parser/count#2": { seen: 7 } });

    const resumed = createRunContainer();
    const early = resumed.create("tool_parser", "count") as Counter;
    resumed.loadStates(structuredClone(states));
    const late = resumed.create("tool_parser", "count") as Counter;
    expect([early.seen, late.seen]).toEqual([4, 7]);
  });

  it("count entries that are no classes, once each, where they are tracked", () => {
    let calls = 3;
    registries.kl_penalty.register("counting", {
      description: "Counts.",
      compute: () => calls++,
      saveState: () => ({ calls }),
      loadState: (state: unknown) => ({ calls } = state as { calls: number }),
    } as never);
    registries.kl_penalty.register("stateless", { description: "Counts nothing.", compute: () => 0 } as never);
    const run = createRunContainer();
    expect(run.saveStates()).toEqual({});
    for (const key of ["counting", "counting", "stateless"]) run.track("kl_penalty", key);
    expect(run.saveStates()).toEqual({ "kl_penalty/counting": { calls: 3 } });
    run.loadStates({ "kl_penalty/counting": { calls: 9 } });
    expect(calls).toBe(9);
  });
});
