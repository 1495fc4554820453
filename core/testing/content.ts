import { DataProto } from "../batch/data-proto.ts";

/** All that a value says, as text that is the same for the same content. */
export function contentOf(value: unknown): string {
  const text = (_: string, item: unknown): unknown => {
    if (item instanceof DataProto) return Buffer.from(item.toArrow()).toString("base64");
    const odd = typeof item === "number" ? !Number.isFinite(item) : ["function", "bigint"].includes(typeof item);
    return odd ? String(item) : item;
  };
  return JSON.stringify(value, text) ?? "undefined";
}
