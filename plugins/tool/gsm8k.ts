import { inject, Tool, TOOL_ENTRY, type ToolEntry, type ToolResult, type ToolSchema } from "verl";
import { gsm8k } from "../reward-score/gsm8k.ts";
import { rowTruth, type TruthPlace } from "../reward-score/shared/row-truth.ts";

const SCHEMA: ToolSchema = {
  type: "function",
  function: {
    name: "calc_gsm8k_reward",
    description: "Checks an answer to the question. It may be called until the answer is right.",
    parameters: {
      type: "object",
      properties: { answer: { type: "string", description: "The answer, a number." } },
      required: ["answer"],
    },
  },
};

const TRUTH: TruthPlace = {
  code: "VERL_AGENT_TOOL",
  path: "tools_kwargs.calc_gsm8k_reward.create_kwargs.ground_truth",
  hint: 'Rows of this tool have the right answer there, as in { create_kwargs: { ground_truth: "42" } }.',
};

/** What an answer costs that is no better than the one before. */
const NO_PROGRESS = -0.05;

/** Scores answers to grade-school sums while they are being worked out; the row's `create_kwargs` have the `ground_truth`. */
export class Gsm8kTool extends Tool {
  readonly schema: ToolSchema;
  private readonly samples = new Map<string, { truth: string; reward: number }>();

  constructor(@inject(TOOL_ENTRY) { tool_schema }: ToolEntry) {
    super();
    this.schema = tool_schema ?? SCHEMA;
  }

  override create({ ground_truth }: Readonly<Record<string, unknown>>): Promise<string> {
    const instance = globalThis.crypto.randomUUID();
    this.samples.set(instance, { truth: rowTruth(ground_truth, TRUTH), reward: 0 });
    return Promise.resolve(instance);
  }

  async execute(instance: string, { answer }: Readonly<Record<string, unknown>>): Promise<ToolResult> {
    const sample = this.samples.get(instance)!;
    const text = String(answer);
    const { score } = (await gsm8k.score({
      data_source: "gsm8k",
      solution_str: text.startsWith("#### ") ? text : `#### ${text}`,
      ground_truth: sample.truth,
      extra_info: {},
      method: "flexible",
    })) as { score: number };
    const reward = score > sample.reward ? 0 : NO_PROGRESS;
    sample.reward = score;
    return {
      content: `The answer ${JSON.stringify(text)} is ${score > 0 ? "right" : "wrong"}: reward ${score}.`,
      reward,
    };
  }

  override calcReward(instance: string): Promise<number> {
    return Promise.resolve(this.samples.get(instance)!.reward);
  }

  override release(instance: string): Promise<void> {
    this.samples.delete(instance);
    return Promise.resolve();
  }
}
