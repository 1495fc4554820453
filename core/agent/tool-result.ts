import type { ToolResult } from "./tool.ts";

/**
 * What a tool's `execute` returned, as a result, whose reward is still to be checked; text alone stands for one without. Tools come from
 * JavaScript too, where nothing checks what they return.
 * @throws TypeError that names the tool and says what it must return
 */
export function toolResultOf(name: string, returned: unknown): Pick<ToolResult, "content"> & { reward?: unknown } {
  if (typeof returned === "string") return { content: returned };
  if (!isMap(returned)) throw faultOf(name, `returned ${kindOf(returned)}`);
  const { content, reward } = returned;
  if (typeof content !== "string" && !(Array.isArray(content) && content.every(isMap)))
    throw faultOf(
      name,
      `returned ${Array.isArray(content) ? "parts that are no objects" : kindOf(content)} as content`,
    );
  return { content, reward };
}

const faultOf = (name: string, what: string): TypeError =>
  new TypeError(
    `the tool "${name}" ${what}; its execute must return text, or { content, reward } with text or a list of parts as content and, if there is one, a number as reward`,
  );

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
