import { describe, expect, it } from "@jest/globals";
import { TurnTokens } from "../../core/agent/turn-tokens.ts";
import { ChatTokenizer } from "./support/chat-tokenizer.ts";
import { converse, registerOnce } from "./support/conversation.ts";
import { testInteractions } from "./support/interactions.ts";
import { episodes, MODELS, turnsOf, type Episode, type ModelTemplate } from "./support/model-templates.ts";
import { testTools, toolsFile } from "./support/tools.ts";

registerOnce([...testTools, ...testInteractions]);

const play = ({ template, marks, format }: ModelTemplate, { says }: Episode, mode: string) =>
  converse({
    template,
    marks,
    tools: toolsFile("add"),
    interactions: "interaction:\n  - name: again\n    class_name: test-again\n",
    row: { interaction_kwargs: { name: "again" } },
    overrides: [`format=${format}`, `template_drift=${mode}`],
    maxTokens: 5000,
    say: (turn) => ({ text: says[turn]!, stopReason: "stop" }),
  });

describe.each(episodes())("%s", (_, model, episode) => {
  const rewrites = Object.keys(episode.forks).length > 0;

  it("appends to what was sampled what the template has behind it", async () => {
    const { trajectory, prompts, text, metrics, tokenizer } = await play(model, episode, "append");
    const turns = turnsOf(episode, prompts[0]!);
    expect(text).toBe(episode.says.map((said, turn) => said + (turn < 3 ? `⟦${turns[turn]!}⟧` : "")).join(""));
    let prompt = prompts[0]!;
    for (const turn of [0, 1, 2]) {
      prompt += episode.says[turn]! + turns[turn]!;
      expect(prompts[turn + 1]).toBe(prompt);
    }
    const sampled = trajectory.segments.filter(({ trainable }) => trainable);
    expect(sampled.map(({ ids }) => [...ids])).toEqual(episode.says.map((said) => [...tokenizer.encode(said)]));
    expect(sampled.every(({ ids, logprobs }) => logprobs!.length === ids.length)).toBe(true);
    expect(metrics["agent_loop/template_drift"]).toBe(Number(rewrites));
  });

  it("forks where the template rewrites what was shown, and nowhere else", async () => {
    const { prompts, text, metrics } = await play(model, episode, "fork");
    const turns = turnsOf(episode, prompts[0]!);
    let prompt = prompts[0]!;
    for (const turn of [0, 1, 2]) {
      const fork = episode.forks[turn + 1];
      prompt = fork === undefined ? prompt + episode.says[turn]! + turns[turn]! : fork(prompts[0]!);
      expect(prompts[turn + 1]).toBe(prompt);
    }
    expect(text.endsWith(episode.says[3]!)).toBe(true);
    expect(metrics["agent_loop/template_drift"]).toBe(Number(rewrites));
  });

  it("fails where the template rewrites what was shown, and nowhere else", async () => {
    const played = play(model, episode, "fail");
    if (!rewrites) {
      await expect(played).resolves.toMatchObject({ metrics: { "agent_loop/template_drift": 0 } });
      return;
    }
    const [shown, now] = episode.differs!;
    await expect(played).rejects.toMatchObject({ code: "VERL_AGENT_TEMPLATE_DRIFT", details: { shown, now } });
  });
});

describe.each(Object.entries(MODELS))("%s: the end of an answer", (_, { template, marks, otherEnd, plain }) => {
  const tokenizer = new ChatTokenizer(template, marks);
  const after = (last: number | undefined): string =>
    tokenizer.decode(
      new TurnTokens(tokenizer, {}).after({ role: "assistant", content: "x" }, last, [
        { role: "user", content: "again" },
      ]),
    );
  const said = plain.says[1]!;
  const turn = plain.turns[1]!.replace("%TOOLS%", "");

  it("is there once, whether it was sampled or not", () => {
    const end = tokenizer.encode(said).at(-1)!;
    expect(after(end)).toBe(turn);
    // Harmony's other answers end with another token than the last.
    const inHistory = template.includes("<|return|>") ? "<|end|>" : tokenizer.decode([end]);
    for (const last of [undefined, ...tokenizer.encode(">\n")]) expect(after(last)).toBe(inHistory + turn);
  });

  it("can be another special token than the template's", () => {
    if (otherEnd !== undefined) expect(after(tokenizer.encode(otherEnd)[0])).toBe(turn);
    const [other] = tokenizer.encode(marks.special[0]!);
    const first = template.includes("gMASK") ? "<|user|>" : "";
    expect(after(other)).toBe(first + turn);
  });
});

describe.each(Object.entries(MODELS))("%s: results", (_, { template, marks, plain }) => {
  const tokenizer = new ChatTokenizer(template, marks);
  const end = tokenizer.encode(plain.says[0]!).at(-1)!;
  const [head, tail] = plain.turns[0]!.split("3") as [string, string];
  const after = (ids: readonly string[], contents: readonly string[]): string => {
    const tool_calls = ids.map((id) => ({ id, type: "function", function: { name: "add", arguments: { a: 1 } } }));
    const answer = { role: "assistant", content: "x", ...(ids.length > 0 ? { tool_calls } : {}) };
    const results = contents.map((content, index) => ({ role: "tool", tool_call_id: ids[index], content }));
    return tokenizer.decode(new TurnTokens(tokenizer, {}).after(answer, end, results));
  };

  it("of parallel calls come behind each other", () => {
    const text = after(["bcdefghij", "abcdefghi"], ["3", "7"]);
    expect(text.startsWith(`${head}3`)).toBe(true);
    expect(text.endsWith(`7${tail}`)).toBe(true);
  });

  it("tell of a call that could not be read", () => {
    const text = after([], ["Error"]).replace("invalid_call", "add").replace("call00000", "abcdefghi");
    expect(text).toBe(`${head}Error${tail}`);
  });
});

it("begins the next answer as the template's variables say", () => {
  const { template, marks, plain } = MODELS["Qwen3"]!;
  const tokenizer = new ChatTokenizer(template, marks);
  const tokens = new TurnTokens(tokenizer, { enable_thinking: false });
  const ids = tokens.after({ role: "assistant", content: "x" }, tokenizer.eosTokenId, [
    { role: "user", content: "again" },
  ]);
  expect(tokenizer.decode(ids)).toBe(`${plain.turns[1]!}<think>\n\n</think>\n\n`);
});
