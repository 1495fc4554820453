import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LoadTokenizerOptions } from "./tokenizer.ts";

export interface TemplateSource {
  source: string;
  /** Where it stands: a file, or the config key that gives it. */
  file: string;
}

/** The chat templates of a model folder: for messages, and for messages with tools where that is another. */
export interface FolderTemplates {
  usual?: TemplateSource | undefined;
  withTools?: TemplateSource | undefined;
}

/** Name of the template that is for messages with tools. */
const TOOL_USE = "tool_use";

/**
 * Looks for a folder's chat templates: `chat_template.jinja` with `additional_chat_templates/tool_use.jinja`, or else `chat_template` of the
 * config, which is one template or several with names.
 */
export async function findTemplates(
  folder: string,
  config: Readonly<Record<string, unknown>>,
  { chatTemplate, templateKey = "chat_template" }: LoadTokenizerOptions,
): Promise<FolderTemplates> {
  if (typeof chatTemplate === "string") return { usual: { source: chatTemplate, file: templateKey } };
  const usual = await fileTemplate(join(folder, "chat_template.jinja"));
  if (usual !== undefined)
    return { usual, withTools: await fileTemplate(join(folder, "additional_chat_templates", `${TOOL_USE}.jinja`)) };
  const file = join(folder, "tokenizer_config.json");
  const given = config.chat_template;
  if (typeof given === "string") return { usual: { source: given, file } };
  if (!Array.isArray(given)) return {};
  const named = (given as { name?: string; template?: string }[]).filter(
    (entry): entry is { name?: string; template: string } => typeof entry?.template === "string",
  );
  const called = (name: string): TemplateSource | undefined => {
    const found = named.find((entry) => entry.name === name);
    return found && { source: found.template, file };
  };
  const first = named[0] && { source: named[0].template, file };
  return { usual: called("default") ?? first, withTools: called(TOOL_USE) };
}

async function fileTemplate(file: string): Promise<TemplateSource | undefined> {
  const source = await readFile(file, "utf8").catch(() => undefined);
  return source === undefined ? undefined : { source, file };
}
