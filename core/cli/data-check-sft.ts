import type { SftConfig } from "../config/index.ts";
import {
  checkRows,
  findingOf,
  findLengths,
  maskConversations,
  maskHere,
  Reasons,
  type CheckedRow,
  type Finding,
  type Row,
  type SftExample,
} from "../data/index.ts";
import { isVerlError } from "../errors/index.ts";
import { RunConsole } from "../trainer/run-console.ts";
import { loadRunTokenizer } from "../trainer/run-tokenizer.ts";
import type { CliContext } from "./command.ts";
import { columnsOf } from "./data-check-rl.ts";
import { spreadOf, type DataCheck } from "./data-check-report.ts";

export interface CheckConversationsOptions {
  file: string;
  config: SftConfig;
  hasModel: boolean;
  ctx: CliContext;
}

/** Conversations whose tokenising shows its progress. */
const MANY = 1000;

/** Checks conversations as `verl sft` reads them. */
export async function checkConversations(
  rows: readonly Row[],
  { file, config, hasModel, ctx }: CheckConversationsOptions,
): Promise<DataCheck> {
  const { data } = config;
  const { readable, findings } = checkRows(rows, {
    file,
    messagesKey: data.messages_key,
    toolsKey: data.tools_key,
    needsGroundTruth: false,
  });
  const measured = hasModel ? await mask(readable, config, file, ctx) : undefined;
  return {
    file,
    rows: rows.length,
    columns: columnsOf(rows),
    tokens: measured?.tokens,
    findings: [...findings, ...(measured?.findings ?? [])],
    not_checked: hasModel ? [] : ["lengths and the chat template: name the model (-c run.yaml, or model.path=…)"],
  };
}

/** Tokenises each conversation with its assistant's tokens marked, and tells which ones could not be trained on. */
async function mask(
  rows: readonly CheckedRow[],
  config: SftConfig,
  file: string,
  ctx: CliContext,
): Promise<{ tokens: DataCheck["tokens"]; findings: Finding[] }> {
  const { data } = config;
  const tokenizer = await loadRunTokenizer(config);
  const console = new RunConsole({
    stream: { write: (text) => ctx.status(text), isTTY: ctx.interactive, columns: process.stderr.columns },
  });
  const variables = data.apply_chat_template_kwargs;
  const conversations = rows.map(({ at, prompt }) => ({ ...prompt, origin: { file, row: at } }));
  const refused = new Reasons();
  let examples: readonly (SftExample | undefined)[];
  try {
    const told = rows.length < MANY ? undefined : console.work("tokenising conversations");
    examples = await maskConversations(tokenizer, conversations, { variables, onProgress: told });
  } catch (error) {
    if (!isVerlError(error)) throw error;
    // Threads tell the first that is refused; all of them are wanted.
    examples = conversations.map((conversation) => {
      ctx.signal.throwIfAborted();
      try {
        return maskHere(tokenizer, conversation, variables);
      } catch (refusal) {
        if (!isVerlError(refusal)) throw refusal;
        refused.note(
          refusal.message.replace(/^Row \d+: | It was row \d+ of the dataset\.$/g, ""),
          conversation.origin.row,
        );
        return undefined;
      }
    });
  }
  const lengths = Int32Array.from(examples, (example) => example?.ids.length ?? -1);
  const untrained = rows.flatMap(({ at }, index) => (examples[index]?.lossMask.includes(1) === false ? [at] : []));
  const limit = data.max_length;
  const dropped = data.truncation !== "error";
  return {
    tokens: { ...spreadOf(lengths.filter((length) => length >= 0)), limit },
    findings: [
      ...refused.findings("template"),
      ...findLengths(rows, lengths, { limit, option: "data.max_length", dropped }),
      ...findingOf("untrained", "warning", untrained, "No assistant's token is trained; the row is left out."),
    ],
  };
}
