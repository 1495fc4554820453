// Writes core/agent/gateway/README.md from the table of fields: `node --import tsx scripts/docs/gateway.mjs`.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { code, markdownTable } from "../../core/cli/entry-docs.ts";

/** The page for a table of fields. */
export function gatewayPage(table) {
  const sections = SECTIONS.map(([treatment, title, sentence]) => {
    const rows = table
      .filter((rule) => rule.treatment === treatment)
      .map(({ fields, about, only }) => [fields.map(code).join(", "), only === undefined ? "" : PATHS[only], about]);
    return [`## ${title}`, "", sentence, "", ...markdownTable(["field", "only of", "what"], rows)].join("\n");
  });
  return `${HEAD}\n${sections.join("\n\n")}\n`;
}

const PATHS = { chat: "`/v1/chat/completions`", completions: "`/v1/completions`" };

const SECTIONS = [
  ["served", "Served", "Done as asked; they change neither the prompt nor how tokens are sampled."],
  [
    "prompt",
    "Served, and counted",
    "The model is shown another prompt, and that is the one that is trained on (`agent_loop/gateway_template_variables_count`).",
  ],
  [
    "sampling",
    "Not done: the run's sampling is kept",
    "What is trained on must be sampled as its log-probs say. Told once a field, and counted (`agent_loop/gateway_sampling_overridden_count`).",
  ],
  [
    "form",
    "Not enforced: a form of the answer",
    `Tokens that a grammar forced are not the policy's, so it answers as it does, and the agent finds out: \`generateObject\` of the AI SDK and
\`chat.completions.parse\` of openai throw where the text does not fit. Catch that and return a low \`reward\`, and the policy learns the form; an
error that leaves the agent fails the attempt, which is tried again. Told once a field, and counted (\`agent_loop/gateway_forms_not_enforced_count\`).`,
  ],
  [
    "refused",
    "Refused",
    "A 400 with the field's name and the reason, as without the field the agent would misread the answer.",
  ],
];

const HEAD = `# What an agent may ask the gateway for

<!-- Generated from field-table.ts by scripts/docs/gateway.mjs. Do not edit. -->

An agent trains unchanged as long as its samples are the policy's. \`/v1/chat/completions\`, \`/v1/completions\` and \`/v1/models\` are served;
\`/v1/responses\` is not: let the AI SDK use \`createOpenAICompatible\` or \`openai.chat(…)\`. Messages are text: images, audio and the role
\`function\` are refused. A conversation that ends with an assistant message gets another one behind it. A null, or a value that asks for nothing
(a penalty of 0, \`response_format\` \`text\`), is no request. A field that is not in these tables is ignored, told and counted
(\`agent_loop/gateway_unknown_fields_count\`).
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { FIELD_TABLE } = await import("../../core/agent/gateway/field-table.ts");
  await writeFile(new URL("../../core/agent/gateway/README.md", import.meta.url), gatewayPage(FIELD_TABLE));
}
