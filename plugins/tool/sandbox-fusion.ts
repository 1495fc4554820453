import {
  inject,
  OPTIONS,
  Tool,
  TOOL_ENTRY,
  type ToolContext,
  type ToolEntry,
  type ToolResult,
  type ToolSchema,
} from "verl";
import { runInSandbox } from "../reward-score/shared/sandbox-fusion-client.ts";
import { CallLimits, type LimitSettings } from "./call-limits.ts";

export interface SandboxFusionOptions extends LimitSettings {
  sandbox_fusion_url: string;
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
  private readonly limits: CallLimits;

  constructor(
    @inject(OPTIONS) private readonly options: SandboxFusionOptions,
    @inject(TOOL_ENTRY) { tool_schema }: ToolEntry,
  ) {
    super();
    this.schema = tool_schema ?? SCHEMA;
    this.limits = new CallLimits(options);
  }

  async execute(_instance: string, args: Readonly<Record<string, unknown>>, ctx: ToolContext): Promise<ToolResult> {
    const { sandbox_fusion_url: url, default_timeout, memory_limit_mb } = this.options;
    const timeout = typeof args.timeout === "number" ? Math.min(args.timeout, default_timeout) : default_timeout;
    const request = { code: String(args.code), stdin: "", timeout, memoryLimitMb: memory_limit_mb };
    const { status, stdout, detail } = await this.limits.run(() => runInSandbox(url, request, ctx.signal), ctx.signal);
    if (status === "api_error") throw new Error(`the sandbox gave no result: ${detail}`);
    if (status === "timeout") return { content: `${stdout}The program ran longer than ${timeout} s.` };
    return { content: `${stdout}${detail}` || "The program printed nothing." };
  }
}
