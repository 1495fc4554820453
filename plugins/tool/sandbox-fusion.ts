import {
  inject,
  Limiter,
  OPTIONS,
  Tool,
  TOOL_ENTRY,
  type ToolContext,
  type ToolEntry,
  type ToolResult,
  type ToolSchema,
} from "verl";
import { runInSandbox } from "../reward-score/shared/sandbox-fusion-client.ts";
import { TokenBucket } from "./token-bucket.ts";

export interface SandboxFusionOptions {
  sandbox_fusion_url: string;
  num_workers: number;
  rate_limit: number;
  default_timeout: number;
  memory_limit_mb: number;
}

const SCHEMA: ToolSchema = {
  type: "function",
  function: {
    name: "code_interpreter",
    description: "Runs a Python program and gives what it prints.",
    parameters: {
      type: "object",
      properties: { code: { type: "string", description: "The program." } },
      required: ["code"],
    },
  },
};

/** Runs Python in a SandboxFusion service. */
export class SandboxFusionTool extends Tool {
  readonly schema: ToolSchema;
  private readonly limiter: Limiter;
  private readonly bucket: TokenBucket;

  constructor(
    @inject(OPTIONS) private readonly options: SandboxFusionOptions,
    @inject(TOOL_ENTRY) { tool_schema }: ToolEntry,
  ) {
    super();
    this.schema = tool_schema ?? SCHEMA;
    this.limiter = new Limiter(options.num_workers);
    this.bucket = new TokenBucket(options.rate_limit);
  }

  async execute(_instance: string, args: Readonly<Record<string, unknown>>, ctx: ToolContext): Promise<ToolResult> {
    const { sandbox_fusion_url: url, default_timeout, memory_limit_mb } = this.options;
    const timeout = typeof args.timeout === "number" ? Math.min(args.timeout, default_timeout) : default_timeout;
    const request = { code: String(args.code), stdin: "", timeout, memoryLimitMb: memory_limit_mb };
    const { status, stdout, detail } = await this.limiter.run(async () => {
      await this.bucket.take(ctx.signal);
      return runInSandbox(url, request, ctx.signal);
    }, ctx.signal);
    if (status === "api_error") throw new Error(`the sandbox gave no result: ${detail}`);
    if (status === "timeout") return { content: `${stdout}The program ran longer than ${timeout} s.` };
    return { content: `${stdout}${detail}` || "The program printed nothing." };
  }
}
