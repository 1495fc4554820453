import type { IncomingMessage } from "node:http";
import { ApiError } from "./api-error.ts";
import { isFields, type Fields } from "./request-fields.ts";

/** Deeper values are no request, and would break recursive readers. */
const MAX_DEPTH = 128;

/** The JSON object of a request. @throws ApiError for what is too large or none */
export async function readJsonBody(request: IncomingMessage, maxBytes: number): Promise<Fields> {
  const tooLarge = new ApiError(413, `A request may have ${maxBytes} bytes.`, "request_too_large");
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge;
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (depthOf(text) > MAX_DEPTH) throw new ApiError(400, `The body is nested deeper than ${MAX_DEPTH} levels.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, `The body is not JSON: ${(error as Error).message}`);
  }
  if (!isFields(value)) throw new ApiError(400, "The body must be a JSON object.");
  return value;
}

/** The deepest nesting of brackets outside of strings, in one pass. */
function depthOf(text: string): number {
  let [depth, deepest] = [0, 0];
  let inString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (inString) {
      if (code === 92) at += 1;
      else if (code === 34) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 91 || code === 123) deepest = Math.max(deepest, ++depth);
    else if (code === 93 || code === 125) depth -= 1;
  }
  return deepest;
}
