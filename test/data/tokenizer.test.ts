import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { loadTokenizer } from "../../core/data/load-tokenizer.ts";
import { errorOf, folderWith, SORT_MODEL } from "./helpers.ts";

const sort = await loadTokenizer(SORT_MODEL);

/** A copy of the example's folder, changed. */
function changed(change: (config: Record<string, unknown>) => void): string {
  const folder = folderWith({});
  cpSync(SORT_MODEL, folder, { recursive: true });
  const file = join(folder, "tokenizer_config.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown>;
  change(config);
  writeFileSync(file, JSON.stringify(config));
  return folder;
}

describe("the example's tokenizer", () => {
  it("has the 62 tokens of the recipe and eight-token prompts", () => {
    expect(sort.vocabSize).toBe(62);
    expect([sort.padTokenId, sort.eosTokenId]).toEqual([0, 3]);
    const prompt = sort.encodeChat([{ role: "user", content: "vydml" }], { addGenerationPrompt: true });
    expect(prompt).toHaveLength(8);
    expect(sort.decode(prompt)).toBe("<|user|>vydml<|end|><|assistant|>");
    expect(
      sort.encodeChat([
        { role: "user", content: "vydml" },
        { role: "assistant", content: "dlmvy" },
      ]),
    ).toHaveLength(14);
  });

  it("reads a tool call of the tool demo as 13 tokens", () => {
    const call = '<tool_call>{"name":"calc","arguments":{"e":"123+456"}}</tool_call>';
    expect(sort.encode(call)).toHaveLength(13);
    expect(sort.decode(sort.encode(call), { skipSpecialTokens: true })).toBe(call);
  });

  it("decodes what it encoded", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom(..."0123456789+-*/()=,;:?> abcdefghijklmnopqrstuvwxyz") }),
        (text) => {
          expect(sort.decode(sort.encode(text))).toBe(text);
        },
      ),
    );
  });

  it("skips special tokens on request and decodes nothing to nothing", () => {
    expect(sort.decode([1, 36, 37, 3, 0, 0], { skipSpecialTokens: true })).toBe("ab");
    expect(sort.decode([])).toBe("");
    expect(sort.decode([0, 3], { skipSpecialTokens: true })).toBe("");
  });

  it("names a character that it has no token for", async () => {
    const error = await errorOf(() => sort.encode("abÄ"));
    expect(error.code).toBe("VERL_DATA_UNENCODABLE");
    expect(error.message).toContain('"Ä"');
  });

  it("reports what the template refuses", async () => {
    const error = await errorOf(() => sort.renderChat([{ role: "robot", content: "x" }]));
    expect(error.code).toBe("VERL_DATA_CHAT_TEMPLATE");
    expect(error.message).toContain("unknown role robot");
  });
});

describe("loadTokenizer", () => {
  const user = [{ role: "user", content: "ab" }];

  it("prefers chat_template.jinja, and a custom template to both", async () => {
    const folder = changed(() => {});
    writeFileSync(join(folder, "chat_template.jinja"), "{{ messages[0].content }}{{ eos_token }}{{ mark }}");
    expect((await loadTokenizer(folder)).renderChat(user, { mark: "!" })).toBe("ab<|end|>!");
    expect((await loadTokenizer(folder, { chatTemplate: "{{ tools is none }}" })).renderChat(user)).toBe("true");
  });

  it("takes the default of several named templates, and token objects", async () => {
    const folder = changed((config) => {
      config.chat_template = [
        { name: "rag", template: "no" },
        { name: "default", template: "yes" },
      ];
      config.eos_token = { content: "<|end|>", special: true };
      delete config.pad_token;
    });
    const tokenizer = await loadTokenizer(folder);
    expect(tokenizer.renderChat(user)).toBe("yes");
    expect([tokenizer.eosTokenId, tokenizer.padTokenId]).toEqual([3, 3]);
  });

  it("takes the template for tools where there are tools, from the config or a file", async () => {
    const named = changed((config) => {
      config.chat_template = [
        { name: "default", template: "plain" },
        { name: "tool_use", template: "<tool_call>{{ tools | length }}" },
      ];
    });
    const files = changed(() => {});
    writeFileSync(join(files, "chat_template.jinja"), "plain");
    mkdirSync(join(files, "additional_chat_templates"));
    writeFileSync(join(files, "additional_chat_templates", "tool_use.jinja"), "<tool_call>{{ tools | length }}");
    for (const folder of [named, files]) {
      const tokenizer = await loadTokenizer(folder);
      expect([undefined, [], [{}]].map((tools) => tokenizer.renderChat(user, { tools }))).toEqual([
        "plain",
        "plain",
        "<tool_call>1",
      ]);
      expect([tokenizer.chatTemplate, tokenizer.toolTemplate]).toEqual(["plain", "<tool_call>{{ tools | length }}"]);
    }
    const own = await loadTokenizer(named, { chatTemplate: "own" });
    expect(own.renderChat(user, { tools: [{}] })).toBe("own");
  });

  it("says so when there is no chat template", async () => {
    const tokenizer = await loadTokenizer(changed((config) => delete config.chat_template));
    expect(tokenizer.chatTemplate).toBeUndefined();
    expect((await errorOf(() => tokenizer.encodeChat(user))).code).toBe("VERL_DATA_CHAT_TEMPLATE");
  });

  it.each([
    ["no eos_token", changed((config) => delete config.eos_token), "names no eos_token"],
    ["an eos_token outside the vocabulary", changed((config) => (config.eos_token = "</s>")), '"</s>"'],
    ["an empty folder", folderWith({}), "is missing"],
    ["broken JSON", folderWith({ "tokenizer.json": "{", "tokenizer_config.json": "{}" }), "is no JSON"],
    ["another JSON", folderWith({ "tokenizer.json": "{}", "tokenizer_config.json": "{}" }), "cannot be used"],
  ])("refuses %s", async (_, folder, text) => {
    const error = await errorOf(() => loadTokenizer(folder));
    expect(error.code).toBe("VERL_DATA_TOKENIZER");
    expect(error.message).toContain(text);
  });

  it("refuses a template that does not parse when loading", async () => {
    const folder = changed((config) => (config.chat_template = "{% if %}"));
    expect((await errorOf(() => loadTokenizer(folder))).code).toBe("VERL_DATA_CHAT_TEMPLATE");
    rmSync(folder, { recursive: true });
  });
});

describe("a model folder that does not exist", () => {
  it("is named, and a hub's id is told apart", async () => {
    const hub = await errorOf(() => loadTokenizer("Qwen/Qwen2.5-0.5B"));
    expect(hub).toMatchObject({ code: "VERL_DATA_TOKENIZER", message: expect.stringContaining('"Qwen/Qwen2.5-0.5B"') });
    expect(hub.hint).toContain("hf download Qwen/Qwen2.5-0.5B");
    const folder = await errorOf(() => loadTokenizer("./none/here"));
    expect(folder.hint).toContain("names a folder");
    expect(await errorOf(() => loadTokenizer(`${SORT_MODEL}/config.json/of`))).toMatchObject({
      code: "VERL_DATA_TOKENIZER",
      message: expect.stringContaining("does not exist"),
    });
  });
});

describe("the hint of an error", () => {
  const names = { folderKey: "model.path", templateKey: "model.custom_chat_template" };
  const withoutTemplate = changed((config) => delete config.chat_template);
  const hintOf = async (run: () => unknown): Promise<string> => (await errorOf(run)).hint!;
  const strange = [{ role: "stranger", content: "x" }];

  it.each<[string, (options: object) => Promise<unknown>, keyof typeof names]>([
    ["no folder", (options) => loadTokenizer("./none/here", options), "folderKey"],
    ["a hub's id", (options) => loadTokenizer("Qwen/Qwen2.5-0.5B", options), "folderKey"],
    ["an empty folder", (options) => loadTokenizer(folderWith({}), options), "folderKey"],
    [
      "no end token",
      (options) =>
        loadTokenizer(
          changed((config) => delete config.eos_token),
          options,
        ),
      "folderKey",
    ],
    [
      "no template",
      async (options) => (await loadTokenizer(withoutTemplate, options)).renderChat(strange),
      "templateKey",
    ],
    [
      "a template that refuses",
      async (options) =>
        (await loadTokenizer(SORT_MODEL, { ...options, chatTemplate: "{{ raise_exception('no') }}" })).renderChat(
          strange,
        ),
      "templateKey",
    ],
  ])("names the key in use, and no other: %s", async (_, run, key) => {
    expect(await hintOf(() => run(names))).toContain(names[key]);
    for (const options of [names, {}]) expect(await hintOf(() => run(options))).not.toContain("actor_rollout_ref");
  });
});
