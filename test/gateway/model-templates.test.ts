import { describe, expect, it } from "@jest/globals";
import type OpenAI from "openai";
import { trajectoriesOf } from "../../core/agent/gateway/branches.ts";
import { createRunContainer } from "../../core/registry/index.ts";
import { toolParsers } from "../../plugins/tool-parser/index.ts";
import { ChatTokenizer } from "../agent/support/chat-tokenizer.ts";
import { registerOnce } from "../agent/support/conversation.ts";
import { episodes, turnsOf } from "../agent/support/model-templates.ts";
import { generation, ScriptedRollout, withSession } from "./support.ts";

registerOnce(toolParsers);

const ADD: OpenAI.ChatCompletionTool = {
  type: "function",
  function: {
    name: "add",
    parameters: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
  },
};
/** Who answers what comes back: the tool, then the user. */
type Reply = (answer: OpenAI.ChatCompletionMessage) => OpenAI.ChatCompletionMessageParam[];
const result: Reply = ({ tool_calls }) =>
  tool_calls!.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "3" }));
const again: Reply = () => [{ role: "user", content: "again" }];

describe.each(episodes())("the gateway, with the template of %s", (_, { template, marks, format }, episode) => {
  it("stitches a conversation of calls and questions to one trajectory", async () => {
    const tokenizer = new ChatTokenizer(template, marks);
    const rollout = new ScriptedRollout((_prompt, request) => {
      const ids = [...tokenizer.encode(episode.says[request]!)];
      return generation(
        ids,
        ids.map((_id, at) => -1 - request - at / 100),
      );
    }, tokenizer);
    const container = createRunContainer({});
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "go" }];
    const { exchanges, counts } = await withSession(
      rollout,
      async ({ client, session }) => {
        for (const reply of [result, again, again, () => []] as Reply[]) {
          const { choices } = await client.chat.completions.create({ model: "policy", messages, tools: [ADD] });
          messages.push(choices[0]!.message, ...reply(choices[0]!.message));
        }
        return session;
      },
      { sampling: { temperature: 1, top_k: -1, top_p: 1, max_tokens: 5000, stop_token_ids: [], seed: 5 } },
      { tokenizer, parser: () => container.create("tool_parser", format) },
    );

    const trajectories = trajectoriesOf(exchanges);
    expect(trajectories).toHaveLength(1);
    expect(counts.historyBreaks).toBe(0);
    const [{ promptIds, segments }] = trajectories as [(typeof trajectories)[number]];
    const turns = turnsOf(episode, tokenizer.decode(promptIds));
    const expected = episode.says.flatMap((said, turn) => [said, ...(turn < turns.length ? [turns[turn]!] : [])]);
    expect(segments.map(({ ids }) => tokenizer.decode(ids))).toEqual(expected);
    expect(segments.map(({ trainable }) => trainable)).toEqual(expected.map((_text, index) => index % 2 === 0));
    expect(segments[0]!.logprobs).toHaveLength(segments[0]!.ids.length);
  });
});
