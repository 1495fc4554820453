import type { Marks } from "./chat-tokenizer.ts";

/** What a model says in an episode: a question, a call of `add`, its result 3, an answer, "again", an answer, "again", an answer. */
export interface Episode {
  /** What it samples, end token included. */
  says: readonly string[];
  /** What the template puts between that: the result, and "again" twice. */
  turns: readonly string[];
  /**
   * The prompts that it forks to, by request, behind the first prompt's `head`; none where the template only appends. A template that
   * moves what stands in the prompt has a prompt of its own.
   */
  forks: Readonly<Record<number, (head: string) => string>>;
  /** The first differing token: as it was shown, and as it is now. */
  differs?: readonly [shown: string, now: string];
}

/** A chat template as a model family has it, written anew and cut to what decides over turns, with the tokens that it is made of. */
export interface ModelTemplate {
  template: string;
  marks: Marks;
  format: string;
  /** An end token that is not the template's. */
  otherEnd?: string;
  reasoning: Episode;
  plain: Episode;
}

const CHATML: Marks = {
  special: ["<|endoftext|>", "<|im_end|>", "<|im_start|>"],
  plain: ["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"],
};

const TOOLS =
  "{{ '<|im_start|>system\n# Tools\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<|im_end|>\n' }}";
/** The results of a round as one user's message. */
const RESULTS = `{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
{{- '\n<tool_response>\n' + message.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}`;
const CALLS = `{%- for call in message.tool_calls or [] %}
{%- if (loop.first and content) or not loop.first %}{{ '\n' }}{% endif %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}{{ '}\n</tool_call>' }}
{%- endfor %}`;
const OPENS =
  "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}";

const QWEN25 = `{% if tools %}${TOOLS}{% endif %}
{%- for message in messages %}{% set content = message.content %}
{%- if message.role == 'tool' %}${RESULTS}
{%- else %}{{ '<|im_start|>' + message.role + '\n' }}{% if content %}{{ content }}{% endif %}${CALLS}{{ '<|im_end|>\n' }}
{%- endif %}{% endfor %}${OPENS}`;

/** Thoughts since the last question stay, an empty one only in the last message; those before it go. */
const QWEN3 = `{% if tools %}${TOOLS}{% endif %}
{%- set ns = namespace(multi_step_tool=true, last_query_index=messages|length - 1) %}
{%- for message in messages[::-1] %}{% set index = (messages|length - 1) - loop.index0 %}
{%- if ns.multi_step_tool and message.role == 'user' and message.content is string and not (message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
{%- set ns.multi_step_tool = false %}{% set ns.last_query_index = index %}{% endif %}{% endfor %}
{%- for message in messages %}{% set content = message.content if message.content is string else '' %}
{%- if message.role == 'user' or message.role == 'system' %}{{ '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
{%- elif message.role == 'assistant' %}{% set reasoning = '' %}
{%- if message.reasoning_content is string %}{% set reasoning = message.reasoning_content %}
{%- elif '</think>' in content %}
{%- set reasoning = content.split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n') %}
{%- set content = content.split('</think>')[-1].lstrip('\n') %}{% endif %}
{{- '<|im_start|>assistant\n' }}
{%- if loop.index0 > ns.last_query_index and (loop.last or reasoning) %}{{ '<think>\n' + reasoning.strip('\n') + '\n</think>\n\n' + content.lstrip('\n') }}
{%- else %}{{ content }}{% endif %}${CALLS}{{ '<|im_end|>\n' }}
{%- elif message.role == 'tool' %}${RESULTS}{% endif %}{% endfor %}${OPENS}`;

const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tool_call>';
const thinking = (text: string) => `<think>\nhm\n</think>\n\n${text}`;
const CHATML_TURNS = [
  "\n<|im_start|>user\n<tool_response>\n3\n</tool_response><|im_end|>\n<|im_start|>assistant\n",
  "\n<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n",
  "\n<|im_start|>user\nagain<|im_end|>\n<|im_start|>assistant\n",
];
/** A call in another form of JSON than the template's. */
const COMPACT = '<tool_call>\n{"name":"add","arguments":{"a":1,"b":2}}\n</tool_call>';
const CHATML_SAYS = [CALL, "first", "second", "third"].map((text) => thinking(`${text}<|im_end|>`));
const CHATML_PLAIN: Episode = {
  says: [COMPACT, "first", "second", "third"].map((text) => `${text}<|im_end|>`),
  turns: CHATML_TURNS,
  forks: {},
};

/** Tools and a moving date would stand in the first question; an answer has one call at most. */
const LLAMA3 = `{{ '<s>' }}{% for message in messages %}
{%- if loop.first and tools %}{{ '<|start_header_id|>user<|end_header_id|>\n\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '\n\n' + message.content | trim + '<|eot_id|>' }}
{%- elif not (message.role == 'tool' or message.tool_calls) %}{{ '<|start_header_id|>' + message.role + '<|end_header_id|>\n\n' + message.content | trim + '<|eot_id|>' }}
{%- elif message.tool_calls %}
{%- if message.tool_calls|length != 1 %}{{ raise_exception('This model only supports single tool-calls at once!') }}{% endif %}
{%- set call = message.tool_calls[0].function %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n{"name": "' + call.name + '", "parameters": ' }}{{ call.arguments | tojson }}{{ '}<|eot_id|>' }}
{%- else %}{{ '<|start_header_id|>ipython<|end_header_id|>\n\n' }}{{ message.content | tojson }}{{ '<|eot_id|>' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}`;
const LLAMA3_AGAIN =
  "<|start_header_id|>user<|end_header_id|>\n\nagain<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n";
const llama3 = (says: readonly string[]): Episode => ({
  says: says.map((text) => `${text}<|eot_id|>`),
  turns: [
    '<|start_header_id|>ipython<|end_header_id|>\n\n"3"<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n',
    LLAMA3_AGAIN,
    LLAMA3_AGAIN,
  ],
  forks: {},
});

/** The tools stand before the last question, so that each question moves them. */
const MISTRAL = `{% set users = messages | selectattr('role', 'equalto', 'user') | list %}{{ '<s>' }}
{%- set ns = namespace(index=0) %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'assistant' and not message.tool_calls) %}
{%- if (message.role == 'user') != (ns.index % 2 == 0) %}{{ raise_exception('conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% set ns.index = ns.index + 1 %}{% endif %}
{%- if message.role == 'user' %}
{%- if tools and message == users[-1] %}{{ '[AVAILABLE_TOOLS] ' }}{{ tools | tojson }}{{ '[/AVAILABLE_TOOLS]' }}{% endif %}
{{- '[INST] ' + message.content + '[/INST]' }}
{%- elif message.tool_calls %}{{ '[TOOL_CALLS] [' }}
{%- for call in message.tool_calls %}
{%- if call.id is not defined or call.id|length != 9 %}{{ raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}{% endif %}
{{- '{"name": "' + call.function.name + '", "arguments": ' }}{{ call.function.arguments | tojson }}{{ ', "id": "' + call.id + '"}' }}{% if not loop.last %}{{ ', ' }}{% endif %}
{%- endfor %}{{ ']</s>' }}
{%- elif message.role == 'assistant' %}{{ ' ' + message.content | trim + '</s>' }}
{%- else %}
{%- if message.tool_call_id is not defined or message.tool_call_id|length != 9 %}{{ raise_exception('Tool call IDs should be alphanumeric strings with length 9!') }}{% endif %}
{{- '[TOOL_RESULTS] {"content": ' + message.content + ', "call_id": "' + message.tool_call_id + '"}[/TOOL_RESULTS]' }}{% endif %}{% endfor %}`;
const MISTRAL_CALL = '[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1, "b": 2}, "id": "abcdefghi"}]</s>';
const MISTRAL_RESULT = '[TOOL_RESULTS] {"content": 3, "call_id": "abcdefghi"}[/TOOL_RESULTS]';

const DEEPSEEK: Marks = {
  special: ["<pad>", "<｜end▁of▁sentence｜>", "<s>", "<｜User｜>", "<｜Assistant｜>"],
  plain: [
    ...[
      "<｜tool▁calls▁begin｜>",
      "<｜tool▁calls▁end｜>",
      "<｜tool▁call▁begin｜>",
      "<｜tool▁call▁end｜>",
      "<｜tool▁sep｜>",
    ],
    ...["<｜tool▁outputs▁begin｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"],
    ...["<think>", "</think>"],
  ],
};
/** An answer that has a content shows no calls, arguments are text, and after results the model goes on with no prompt. */
const deepSeek = (prompt: string): string => `{% set ns = namespace(is_tool=false, is_first=true) %}{{ '<s>' }}
{%- for message in messages %}
{%- if message.role == 'user' %}{% set ns.is_tool = false %}{{ '<｜User｜>' + message.content }}
{%- elif message.role == 'assistant' and message.content is none %}{% set ns.is_tool = false %}{{ '<｜Assistant｜><｜tool▁calls▁begin｜>' }}
{%- for call in message.tool_calls %}{{ '<｜tool▁call▁begin｜>' + call.type + '<｜tool▁sep｜>' + call.function.name + '\n\`\`\`json\n' + call.function.arguments + '\n\`\`\`<｜tool▁call▁end｜>' }}{% endfor %}{{ '<｜tool▁calls▁end｜><｜end▁of▁sentence｜>' }}
{%- elif message.role == 'assistant' %}
{%- if ns.is_tool %}{{ '<｜tool▁outputs▁end｜>' + message.content + '<｜end▁of▁sentence｜>' }}{% set ns.is_tool = false %}
{%- else %}{{ '<｜Assistant｜>' + message.content.split('</think>')[-1] + '<｜end▁of▁sentence｜>' }}{% endif %}
{%- elif message.role == 'tool' %}{% set ns.is_tool = true %}
{%- if ns.is_first %}{{ '<｜tool▁outputs▁begin｜>' }}{% set ns.is_first = false %}{% else %}{{ '\n' }}{% endif %}
{{- '<｜tool▁output▁begin｜>' + message.content + '<｜tool▁output▁end｜>' }}{% endif %}{% endfor %}
{%- if ns.is_tool %}{{ '<｜tool▁outputs▁end｜>' }}{% elif add_generation_prompt %}{{ '${prompt}' }}{% endif %}`;
const DEEPSEEK_CALL =
  '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{"a":1,"b":2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜><｜end▁of▁sentence｜>';
const DEEPSEEK_RESULT = "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>3<｜tool▁output▁end｜><｜tool▁outputs▁end｜>";
const deepSeekTurns = (prompt: string) => [DEEPSEEK_RESULT, `<｜User｜>again${prompt}`, `<｜User｜>again${prompt}`];

const GLM: Marks = {
  special: ["<|endoftext|>", "<|user|>", "<|assistant|>", "<|observation|>", "<|system|>", "[gMASK]", "<sop>"],
  plain: [
    ...["<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"],
    ...["<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"],
  ],
};
/** An answer has no end of its own: the next turn's first token ends it. Thoughts before the last question become empty. */
const GLM45 = `{{ '[gMASK]<sop>' }}{% if tools %}{{ '<|system|>\n# Tools\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{% endif %}
{%- set ns = namespace(last_user_index=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last_user_index = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'user' %}{{ '<|user|>\n' + m.content }}
{%- elif m.role == 'assistant' %}{% set reasoning = '' %}{% set content = m.content %}
{%- if m.reasoning_content is string %}{% set reasoning = m.reasoning_content %}
{%- elif '</think>' in content %}{% set reasoning = content.split('</think>')[0].split('<think>')[-1] %}{% set content = content.split('</think>')[-1] %}{% endif %}
{{- '<|assistant|>' }}
{%- if loop.index0 > ns.last_user_index and reasoning %}{{ '\n<think>' + reasoning.strip() + '</think>' }}{% else %}{{ '\n<think></think>' }}{% endif %}
{%- if content.strip() %}{{ '\n' + content.strip() }}{% endif %}
{%- for call in m.tool_calls or [] %}{{ '\n<tool_call>' + call.function.name }}
{%- for k, v in call.function.arguments.items() %}{{ '\n<arg_key>' + k + '</arg_key>\n<arg_value>' }}{{ v | tojson }}{{ '</arg_value>' }}{% endfor %}{{ '\n</tool_call>' }}{% endfor %}
{%- elif m.role == 'tool' %}{% if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{ '<|observation|>' }}{% endif %}{{ '\n<tool_response>\n' + m.content + '\n</tool_response>' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}`;
const GLM_CALL =
  "<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n<arg_value>2</arg_value>\n</tool_call>";
const glmSays = (thought: string) => [
  `\n<think>${thought}</think>\n${GLM_CALL}<|observation|>`,
  ...["first", "second", "third"].map((text) => `\n<think>${thought}</think>\n${text}<|user|>`),
];
const GLM_TURNS = [
  "\n<tool_response>\n3\n</tool_response><|assistant|>",
  "\nagain<|assistant|>",
  "\nagain<|assistant|>",
];

const HARMONY: Marks = {
  special: [
    ...["<|endoftext|>", "<|return|>", "<|end|>", "<|call|>", "<|start|>", "<|channel|>", "<|message|>"],
    "<|constrain|>",
  ],
  plain: [],
};
/** The last answer ends with another token than the others, and with an answer the analysis of the calls before it goes. */
const GPT_OSS = `{{ '<|start|>system<|message|>Reasoning: medium<|end|>' }}
{%- if tools %}{{ '<|start|>developer<|message|># Tools\n' }}{% for tool in tools %}{{ tool | tojson }}{% endfor %}{{ '<|end|>' }}{% endif %}
{%- set last_tool_call = namespace(name=none) %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}
{%- if '<|channel|>' in message.content %}{{ raise_exception('channel tags in the content') }}{% endif %}
{%- if 'tool_calls' in message %}
{%- set later = namespace(found=false) %}
{%- for other in messages[loop.index:] %}{% if other.role == 'assistant' and 'tool_calls' not in other %}{% set later.found = true %}{% endif %}{% endfor %}
{%- set call = message.tool_calls[0].function %}
{%- if message.content and message.thinking %}{{ raise_exception('both content and thinking') }}{% endif %}
{%- if (message.content or message.thinking) and not later.found %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + (message.content or message.thinking) + '<|end|>' }}{% endif %}
{{- '<|start|>assistant to=functions.' + call.name + '<|channel|>commentary json<|message|>' }}{{ call.arguments | tojson }}{{ '<|call|>' }}
{%- set last_tool_call.name = call.name %}
{%- elif loop.last and not add_generation_prompt %}
{%- if 'thinking' in message %}{{ '<|start|>assistant<|channel|>analysis<|message|>' + message.thinking + '<|end|>' }}{% endif %}
{{- '<|start|>assistant<|channel|>final<|message|>' + message.content + '<|return|>' }}
{%- else %}{{ '<|start|>assistant<|channel|>final<|message|>' + message.content + '<|end|>' }}{% set last_tool_call.name = none %}{% endif %}
{%- elif message.role == 'tool' %}
{%- if last_tool_call.name is none %}{{ raise_exception('no previous assistant message with a tool call') }}{% endif %}
{{- '<|start|>functions.' + last_tool_call.name + ' to=assistant<|channel|>commentary<|message|>' }}{{ message.content | tojson }}{{ '<|end|>' }}
{%- else %}{{ '<|start|>user<|message|>' + message.content + '<|end|>' }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|start|>assistant' }}{% endif %}`;
const HARMONY_CALL = ' to=functions.add<|channel|>commentary json<|message|>{"a": 1, "b": 2}<|call|>';
const HARMONY_TURNS = [
  '<|start|>functions.add to=assistant<|channel|>commentary<|message|>"3"<|end|><|start|>assistant',
  "<|start|>user<|message|>again<|end|><|start|>assistant",
  "<|start|>user<|message|>again<|end|><|start|>assistant",
];
const HARMONY_FINALS = ["first", "second", "third"].map((text) => `<|channel|>final<|message|>${text}<|return|>`);
const HARMONY_THOUGHT = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant";
const harmonyRest = (text: string) => `<|channel|>final<|message|>${text}<|end|>${HARMONY_TURNS[1]!}`;

const qwen3Fork = (head: string) => `${head}${CALL}<|im_end|>${CHATML_TURNS[0]!}first<|im_end|>${CHATML_TURNS[1]!}`;
const glmFork = (head: string) =>
  `${head}\n<think></think>\n${GLM_CALL}<|observation|>${GLM_TURNS[0]!}\n<think></think>\nfirst<|user|>${GLM_TURNS[1]!}`;
const harmonyFork = (head: string) => `${head}${HARMONY_CALL}${HARMONY_TURNS[0]!}${harmonyRest("first")}`;
const R1_PROMPT = "<｜Assistant｜><think>\n";
/** What R1's template has of the call and its result: the thought that the prompt began is no more. */
const r1Fork = (head: string) => `${head.slice(0, -"<think>\n".length)}${DEEPSEEK_CALL}${DEEPSEEK_RESULT}`;
const r1ForkAgain = (head: string) =>
  `${r1Fork(head)}first<｜end▁of▁sentence｜><｜User｜>again<｜Assistant｜>\n\nsecond<｜end▁of▁sentence｜><｜User｜>again${R1_PROMPT}`;
const MISTRAL_TOOLS = /\[AVAILABLE_TOOLS\].*\[\/AVAILABLE_TOOLS\]/;
const mistralFork = (answers: readonly string[]) => (head: string) => {
  const told = answers.map((text) => ` ${text}</s>`).join("[INST] again[/INST]");
  const tools = MISTRAL_TOOLS.exec(head)![0];
  return `${head.replace(tools, "")}${MISTRAL_CALL}${MISTRAL_RESULT}${told}${tools}[INST] again[/INST]`;
};
const MISTRAL_EPISODE: Episode = {
  says: [MISTRAL_CALL, " first</s>", " second</s>", " third</s>"],
  turns: [MISTRAL_RESULT, "%TOOLS%[INST] again[/INST]", "%TOOLS%[INST] again[/INST]"],
  forks: { 2: mistralFork(["first"]), 3: mistralFork(["first", "second"]) },
  differs: ["[AVAILABLE_TOOLS]", "[INST]"],
};

export const MODELS: Readonly<Record<string, ModelTemplate>> = {
  "Qwen2.5": {
    template: QWEN25,
    marks: CHATML,
    format: "hermes",
    otherEnd: "<|endoftext|>",
    reasoning: { says: CHATML_SAYS, turns: CHATML_TURNS, forks: {} },
    plain: CHATML_PLAIN,
  },
  Qwen3: {
    template: QWEN3,
    marks: CHATML,
    format: "qwen3",
    otherEnd: "<|endoftext|>",
    reasoning: {
      says: CHATML_SAYS,
      turns: CHATML_TURNS,
      forks: {
        2: qwen3Fork,
        3: (head) => `${qwen3Fork(head)}second<|im_end|>${CHATML_TURNS[1]!}`,
      },
      differs: ["<think>", "<tool_call>"],
    },
    plain: CHATML_PLAIN,
  },
  "Llama 3": {
    template: LLAMA3,
    marks: {
      special: ["<pad>", "<|eot_id|>", "<|eom_id|>", "<s>", "<|start_header_id|>", "<|end_header_id|>"],
      plain: [],
    },
    format: "llama3_json",
    otherEnd: "<|eom_id|>",
    reasoning: llama3(['{"name": "add", "parameters": {"a": 1, "b": 2}}', "<think>hm</think>first", "second", "third"]),
    plain: llama3(['{"name":"add","parameters":{"a":1,"b":2}}', "first", "second", "third"]),
  },
  Mistral: {
    template: MISTRAL,
    marks: {
      special: [
        ...["<pad>", "</s>", "<s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_CALLS]"],
        ...["[TOOL_RESULTS]", "[/TOOL_RESULTS]"],
      ],
      plain: [],
    },
    format: "mistral",
    reasoning: MISTRAL_EPISODE,
    plain: MISTRAL_EPISODE,
  },
  "DeepSeek V3": {
    template: deepSeek("<｜Assistant｜>"),
    marks: DEEPSEEK,
    format: "deepseek_v3",
    reasoning: {
      says: [
        DEEPSEEK_CALL,
        "first<｜end▁of▁sentence｜>",
        "<think>hm</think>second<｜end▁of▁sentence｜>",
        "third<｜end▁of▁sentence｜>",
      ],
      turns: deepSeekTurns("<｜Assistant｜>"),
      forks: {
        3: (head) =>
          `${head}${DEEPSEEK_CALL}${DEEPSEEK_RESULT}first<｜end▁of▁sentence｜><｜User｜>again<｜Assistant｜>second<｜end▁of▁sentence｜><｜User｜>again<｜Assistant｜>`,
      },
      differs: ["<think>", "s"],
    },
    plain: {
      says: [DEEPSEEK_CALL, "first<｜end▁of▁sentence｜>", "second<｜end▁of▁sentence｜>", "third<｜end▁of▁sentence｜>"],
      turns: deepSeekTurns("<｜Assistant｜>"),
      forks: {},
    },
  },
  "DeepSeek R1": {
    template: deepSeek("<｜Assistant｜><think>\\n"),
    marks: DEEPSEEK,
    format: "deepseek_v3",
    reasoning: {
      says: [
        `hm</think>\n\n${DEEPSEEK_CALL}`,
        "first<｜end▁of▁sentence｜>",
        "hm</think>\n\nsecond<｜end▁of▁sentence｜>",
        "hm</think>\n\nthird<｜end▁of▁sentence｜>",
      ],
      turns: deepSeekTurns(R1_PROMPT),
      forks: { 1: r1Fork, 3: r1ForkAgain },
      differs: ["<think>", "<｜tool▁calls▁begin｜>"],
    },
    plain: {
      says: [
        `</think>${DEEPSEEK_CALL}`,
        "first<｜end▁of▁sentence｜>",
        "</think>\n\nsecond<｜end▁of▁sentence｜>",
        "</think>\n\nthird<｜end▁of▁sentence｜>",
      ],
      turns: deepSeekTurns(R1_PROMPT),
      forks: { 1: r1Fork, 3: r1ForkAgain },
      differs: ["<think>", "<｜tool▁calls▁begin｜>"],
    },
  },
  "GLM-4.5": {
    template: GLM45,
    marks: GLM,
    format: "glm45",
    reasoning: {
      says: glmSays("hm"),
      turns: GLM_TURNS,
      forks: {
        2: glmFork,
        3: (head) => `${glmFork(head)}\n<think></think>\nsecond<|user|>${GLM_TURNS[1]!}`,
      },
      differs: ["h", "</think>"],
    },
    plain: { says: glmSays(""), turns: GLM_TURNS, forks: {} },
  },
  "gpt-oss": {
    template: GPT_OSS,
    marks: HARMONY,
    format: "gpt_oss",
    reasoning: {
      says: [HARMONY_CALL, ...HARMONY_FINALS].map((text) => `${HARMONY_THOUGHT}${text}`),
      turns: HARMONY_TURNS,
      forks: { 2: harmonyFork, 3: (head) => `${harmonyFork(head)}${harmonyRest("second")}` },
      differs: ["<|channel|>", " "],
    },
    plain: { says: [HARMONY_CALL, ...HARMONY_FINALS], turns: HARMONY_TURNS, forks: {} },
  },
};

/** Every episode, by the name of its model and whether it thinks. */
export const episodes = (): [string, ModelTemplate, Episode][] =>
  Object.entries(MODELS).flatMap(([name, model]): [string, ModelTemplate, Episode][] => [
    [`${name}, with thoughts`, model, model.reasoning],
    [`${name}, without`, model, model.plain],
  ]);

/** The turns of an episode, with the tools of its first prompt where the template repeats them. */
export function turnsOf({ turns }: Episode, prompt: string): string[] {
  const [tools = ""] = MISTRAL_TOOLS.exec(prompt) ?? [];
  return turns.map((turn) => turn.replace("%TOOLS%", () => tools));
}
