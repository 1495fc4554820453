import { provide } from "verl";
import { SANDBOX_URL_OPTION } from "../reward-score/shared/sandbox-fusion-client.ts";
import { Calculator } from "./calculator.ts";
import { limitOptions, rateLimitOption } from "./call-limits.ts";
import { Gsm8kTool } from "./gsm8k.ts";
import { McpTools } from "./mcp/mcp-tools.ts";
import { SandboxFusionTool } from "./sandbox-fusion.ts";
import { SearchTool } from "./search.ts";

/** Keys of the registry `tool`; verl's class names, which its tools files have, are aliases. */
export const tools = [
  provide("tool", "calculator", {
    description:
      "Evaluates arithmetic: + - * / // % **, brackets, pi, e and a few functions; integers are exact, up to 1000 digits.",
    create: Calculator,
  }),
  provide("tool", "gsm8k", {
    description: "Scores answers to grade-school sums while they are being worked out.",
    aliases: ["verl.tools.gsm8k_tool.Gsm8kTool"],
    departures: ["An instance lives as long as its sample, so `calc_reward` is that of the last answer."],
    create: Gsm8kTool,
  }),
  provide("tool", "mcp", {
    description: "The tools of MCP servers, over standard streams or streamable HTTP; needs @modelcontextprotocol/sdk.",
    aliases: ["verl.tools.mcp_base_tool.MCPBaseTool", "verl.tools.mcp_search_tool.MCPSearchTool"],
    departures: [
      "Servers with an `auth_token` are reached by streamable HTTP as well; verl uses SSE, which the protocol has given up.",
      "A call has a deadline; in verl its timeout is read and not used.",
    ],
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      required: ["mcp"],
      properties: {
        mcp: {
          type: "object",
          description: "The servers, and which of their tools are offered.",
          additionalProperties: false,
          required: ["mcp_servers_config_path"],
          properties: {
            mcp_servers_config_path: {
              type: "string",
              format: "file",
              description: "JSON file with the map `mcpServers`.",
            },
            tool_selected_list: {
              type: ["array", "null"],
              items: { type: "string" },
              default: null,
              description: "Names of the tools that are offered; null: all.",
            },
            tool_name_prefix: {
              type: "boolean",
              default: false,
              description: "Call each tool `<server>_<tool>`, so that servers may have tools of one name.",
            },
          },
        },
        rate_limit: rateLimitOption(10),
        timeout: { type: "number", exclusiveMinimum: 0, default: 30, description: "Seconds that connecting may take." },
      },
    },
    create: McpTools,
  }),
  provide("tool", "sandbox_fusion", {
    description: "Runs Python programs in a SandboxFusion service.",
    aliases: ["verl.tools.sandbox_fusion_tools.SandboxFusionTool"],
    departures: ["A program that fails is told to the model with what it printed; verl says that there is no output."],
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      required: ["sandbox_fusion_url"],
      properties: {
        sandbox_fusion_url: SANDBOX_URL_OPTION,
        ...limitOptions({ num_workers: 10, rate_limit: 10 }),
        default_timeout: {
          type: "number",
          exclusiveMinimum: 0,
          default: 30,
          description: "Seconds that a program may run; the model may ask for fewer where the schema has `timeout`.",
        },
        memory_limit_mb: { type: "integer", minimum: 1, default: 1024, description: "Memory of a program, in MiB." },
        enable_global_rate_limit: {
          type: "boolean",
          default: true,
          description: "Without effect: limits always hold for all samples together.",
        },
        default_language: {
          type: "string",
          enum: ["python"],
          default: "python",
          description: "Language of the programs.",
        },
      },
    },
    create: SandboxFusionTool,
  }),
  provide("tool", "search", {
    description: "Searches documents by a retrieval service over HTTP, as Search-R1's.",
    aliases: ["verl.tools.search_tool.SearchTool"],
    metrics: {
      "tool/search/queries_count": "Queries that were asked.",
      "tool/search/results_count": "Documents that came back.",
    },
    optionsSchema: {
      type: "object",
      additionalProperties: false,
      required: ["retrieval_service_url"],
      properties: {
        retrieval_service_url: {
          type: "string",
          pattern: "^https?://",
          description: "Address that queries are posted to.",
        },
        topk: { type: "integer", minimum: 1, default: 3, description: "Documents a query." },
        ...limitOptions({ num_workers: 120, rate_limit: 120 }),
        timeout: {
          type: "number",
          exclusiveMinimum: 0,
          default: 30,
          description: "Seconds that a call may take, its retries together.",
        },
      },
    },
    create: SearchTool,
  }),
];
