import {
  inject,
  JsonClient,
  OPTIONS,
  Tool,
  TOOL_ENTRY,
  withRetries,
  type ToolContext,
  type ToolEntry,
  type ToolResult,
  type ToolSchema,
} from "verl";
import { CallLimits, type LimitSettings } from "./call-limits.ts";

export interface SearchOptions extends LimitSettings {
  retrieval_service_url: string;
  topk: number;
  timeout: number;
}

const SCHEMA: ToolSchema = {
  type: "function",
  function: {
    name: "search",
    description: "Searches documents for each of the queries.",
    parameters: {
      type: "object",
      properties: {
        query_list: { type: "array", items: { type: "string" }, minItems: 1, description: "What to search for." },
      },
      required: ["query_list"],
    },
  },
};

interface Found {
  document?: { contents?: string; title?: string; text?: string };
  contents?: string;
}

/** Asks a retrieval service (`POST { queries, topk, return_scores }`, as Search-R1's) and gives its documents as text. */
export class SearchTool extends Tool {
  readonly schema: ToolSchema;
  private readonly limits: CallLimits;
  private readonly client: JsonClient;

  constructor(
    @inject(OPTIONS) private readonly options: SearchOptions,
    @inject(TOOL_ENTRY) { tool_schema }: ToolEntry,
  ) {
    super();
    this.schema = tool_schema ?? SCHEMA;
    this.limits = new CallLimits(options);
    this.client = new JsonClient({ url: options.retrieval_service_url, followRedirects: true });
  }

  async execute(_instance: string, args: Readonly<Record<string, unknown>>, ctx: ToolContext): Promise<ToolResult> {
    const { topk, timeout } = this.options;
    const queries = args.query_list as string[];
    const signal = AbortSignal.any([ctx.signal, AbortSignal.timeout(timeout * 1000)]);
    const body = { queries, topk, return_scores: true };
    const answer = await this.limits.run(() => withRetries(() => this.client.post(body, signal), { signal }), signal);
    const found = (answer as { result?: Found[][] } | null)?.result;
    if (!Array.isArray(found)) throw new Error("the retrieval service gave no result");
    ctx.metric("tool/search/queries_count", queries.length);
    ctx.metric(
      "tool/search/results_count",
      found.reduce((sum, documents) => sum + documents.length, 0),
    );
    return { content: JSON.stringify({ result: found.map(asText).join("\n---\n") }) };
  }
}

/** Documents one after the other; a document's first line is its title. */
function asText(documents: readonly Found[]): string {
  return documents
    .map((found, index) => {
      const { title, text } = found.document ?? {};
      const contents = found.document?.contents ?? found.contents ?? `${title ?? ""}\n${text ?? ""}`;
      const end = contents.indexOf("\n");
      const [head, body] = end < 0 ? [contents, ""] : [contents.slice(0, end), contents.slice(end + 1)];
      return `Doc ${index + 1} (Title: ${head})\n${body}`;
    })
    .join("\n");
}
