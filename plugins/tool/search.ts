import {
  askService,
  inject,
  JsonClient,
  OPTIONS,
  Tool,
  TOOL_ENTRY,
  withDeadline,
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

/** A document, as services write it: any field may be missing, or be something else. */
type Found = { document?: Partial<Record<"contents" | "title" | "text", unknown>> | null; contents?: unknown } | null;

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
    const question = {
      client: this.client,
      body: { queries, topk, return_scores: true },
      wanted: "list `result` of lists of documents",
      read: ({ result }: Record<string, unknown>) => (isListOfLists(result) ? result : undefined),
      failure: "the retrieval service gave no result",
    };
    const ask = (signal: AbortSignal) => this.limits.run(() => askService({ ...question, signal }), signal);
    const found = await withDeadline(timeout, ask, ctx.signal);
    ctx.metric("tool/search/queries_count", queries.length);
    ctx.metric(
      "tool/search/results_count",
      found.reduce((sum, documents) => sum + documents.length, 0),
    );
    return { content: JSON.stringify({ result: found.map(asText).join("\n---\n") }) };
  }
}

const isListOfLists = (value: unknown): value is Found[][] => Array.isArray(value) && value.every(Array.isArray);

/** Documents one after the other; a document's first line is its title. */
function asText(documents: readonly Found[]): string {
  return documents
    .map((found, index) => {
      const { contents, title, text } = found?.document ?? {};
      const whole = contents ?? found?.contents;
      const shown = typeof whole === "string" ? whole : `${textOf(title)}\n${textOf(text)}`;
      const end = shown.indexOf("\n");
      const [head, body] = end < 0 ? [shown, ""] : [shown.slice(0, end), shown.slice(end + 1)];
      return `Doc ${index + 1} (Title: ${head})\n${body}`;
    })
    .join("\n");
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
