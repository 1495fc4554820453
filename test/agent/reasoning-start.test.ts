import { expect, it } from "@jest/globals";
import { startsInReasoning } from "../../core/agent/index.ts";
import { letterTokenizer } from "../../core/testing/letter-tokenizer.ts";

it.each([
  ["a prompt that opens reasoning", "user: hi\nassistant: <think>\n", true],
  ["one of Mistral", "[INST]hi[/INST][THINK]", true],
  ["one that opens none", "user: hi\nassistant: ", false],
  ["one that opens and closes it", "assistant: <think>\n\n</think>\n\n", false],
  ["a tag farther up that was closed", `<think>Hm.</think>${"So. ".repeat(8)}`, false],
  ["a tag farther up that was not", `<think>\nOkay, let me think step by step.`, undefined],
  ["a tag very far up", `<think>${"So. ".repeat(80)}`, false],
])("%s", (_what, prompt, starts) => {
  expect(startsInReasoning(letterTokenizer, letterTokenizer.encode(prompt))).toBe(starts);
});
