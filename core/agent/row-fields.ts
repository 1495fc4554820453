import { inspect } from "node:util";
import { VerlError, type ErrorCode } from "../errors/index.ts";
import { nearest } from "../registry/nearest.ts";
import { describeValue } from "../reward/sample-reward.ts";
import type { OfferedTool } from "./tool-box.ts";

/** Fields of a dataset row. */
export type RowFields = Readonly<Record<string, unknown>>;

/** A field that agent loops read: a column of the row, or a field of its `extra_info`, where verl's data has it. */
export function rowField(row: RowFields, name: string): unknown {
  const extra = row.extra_info as RowFields | null | undefined;
  return row[name] ?? extra?.[name] ?? undefined;
}

/** The loop of a row's `agent_name`, a name that there cannot be where that is no text. @param own that of rows without one */
export const agentOf = ({ agent_name: name }: RowFields, own: string): string =>
  typeof name === "string" ? name : name === undefined || name === null ? own : inspect(name);

/** A field that is an object; an empty one where the row has none. @throws VerlError `code` */
export function rowObject(row: RowFields, name: string, code: ErrorCode): RowFields {
  return objectOf(rowField(row, name), name, code);
}

/** The tools of a row's `tool_selection`, in its order; all where it has none. @throws VerlError VERL_AGENT_TOOL */
export function selectTools(tools: ReadonlyMap<string, OfferedTool>, row: RowFields): ReadonlyMap<string, OfferedTool> {
  const selection = rowField(row, "tool_selection");
  if (selection === undefined) return tools;
  if (!Array.isArray(selection)) {
    throw new VerlError(
      "VERL_AGENT_TOOL",
      `A row's tool_selection is ${describeValue(selection)}, not a list of names.`,
      {
        hint: `${meant(selection, tools)}It is a list as in ["${[...tools.keys()][0] ?? "my_tool"}"], a column of the row or a field of its extra_info.`,
      },
    );
  }
  return new Map(
    selection.map((name: unknown) => {
      const tool = tools.get(name as string);
      if (tool !== undefined) return [name as string, tool];
      const what = typeof name === "string" ? JSON.stringify(name) : describeValue(name);
      throw new VerlError("VERL_AGENT_TOOL", `A row's tool_selection names ${what}, which is no tool of this run.`, {
        location: { path: "actor_rollout_ref.rollout.multi_turn.tool_config_path" },
        hint: meant(name, tools).trimEnd(),
      });
    }),
  );
}

/** The same for who need not mean tools of the run: those of the names that it has; all where there is no list of names. */
export function knownTools(tools: ReadonlyMap<string, OfferedTool>, row: RowFields): ReadonlyMap<string, OfferedTool> {
  const selection = rowField(row, "tool_selection");
  if (!Array.isArray(selection)) return tools;
  return selectTools(tools, { tool_selection: selection.filter((name: unknown) => tools.has(name as string)) });
}

/** A row's `tools_kwargs`: by tool, an object with the `create_kwargs`. @throws VerlError VERL_AGENT_TOOL */
export function toolsKwargsOf(row: RowFields): RowFields {
  const kwargs = rowObject(row, "tools_kwargs", "VERL_AGENT_TOOL");
  for (const [name, own] of Object.entries(kwargs)) {
    const path = `tools_kwargs.${name}`;
    objectOf(objectOf(own, path, "VERL_AGENT_TOOL").create_kwargs, `${path}.create_kwargs`, "VERL_AGENT_TOOL");
  }
  return kwargs;
}

/** Which tools there are, and which of them a row's author may have meant; a space follows. */
export function meant(name: unknown, tools: ReadonlyMap<string, OfferedTool>): string {
  const near = typeof name === "string" ? nearest(name, tools.keys()) : [];
  const question = near.length === 0 ? "" : `Did you mean ${near.join(" or ")}? `;
  return `${question}The tools are ${[...tools.keys()].join(", ") || "none"}. `;
}

function objectOf(value: unknown, path: string, code: ErrorCode): RowFields {
  if (value === undefined || value === null) return {};
  if (typeof value === "object" && !Array.isArray(value)) return value as RowFields;
  throw new VerlError(code, `A row's ${path} is ${describeValue(value)}, not an object.`, {
    hint: "It is a column of the row, or a field of its extra_info; what is JSON as text has to be parsed where the dataset is made.",
  });
}
