import { describe, expect, it } from "@jest/globals";
import { readableEvents } from "../../plugins/tool/mcp/event-stream.ts";
import { dataText, readMessage } from "../../plugins/tool/mcp/large-integers.ts";
import { MOST_BYTES, TOO_LONG } from "../../plugins/tool/mcp/message-bytes.ts";
import { MessageLines } from "../../plugins/tool/mcp/message-lines.ts";

const answer = (id: number, text: string) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
const failure = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32000, message: TOO_LONG } });
const long = "x".repeat(MOST_BYTES);

/** The messages of a text that comes in pieces, and how many lines were none. */
function read(pieces: readonly Buffer[]): { messages: unknown[]; faults: number } {
  const lines = new MessageLines();
  const messages: unknown[] = [];
  let faults = 0;
  for (const piece of pieces) {
    lines.append(piece);
    for (let done = false; !done;) {
      try {
        const message = lines.readMessage();
        if (message === null) done = true;
        else messages.push(message);
      } catch {
        faults += 1;
      }
    }
  }
  return { messages, faults };
}

describe("lines of messages", () => {
  it("come cut at every position, beside lines that are none", () => {
    const text = Buffer.from(
      `${JSON.stringify(answer(1, "hé"))}\r\nnull\n\nstarting…\n${JSON.stringify(answer(2, "b"))}\n`,
    );
    const whole = { messages: [answer(1, "hé"), answer(2, "b")], faults: 1 };
    for (let at = 0; at <= text.length; at += 1) expect(read([text.subarray(0, at), text.subarray(at)])).toEqual(whole);
  });

  it.each([
    ["an id in front", `{"jsonrpc":"2.0","id":7,"result":{"id":1,"text":"${long}"}}`, [failure(7)]],
    [
      "an id behind",
      `{"result":{"id":1,"a":[{"id":2}],"text":"${long}"},"jsonrpc":"2.0","id":"seven"}`,
      [failure("seven")],
    ],
    ["text that looks like one", `{"result":{"t":"\\"},\\"id\\":1}${long}\\\\"},"id":7}`, [failure(7)]],
    ["an error", `{"error":{"code":1,"message":"${long}"},"id":7}`, [failure(7)]],
    ["no id", `{"method":"notifications/message","params":{"data":"${long}"}}`, []],
    ["a long field of its own", `{"result":{},"note":"${long}","id":7}`, []],
    ["no JSON", `{{{{${long}`, []],
  ])("fail the call whose answer is too long, by %s", (_, line, expected) => {
    const text = Buffer.from(`${line}\n${JSON.stringify(answer(8, "next"))}\n`);
    const pieces = Array.from({ length: Math.ceil(text.length / 65_536) }, (__, at) =>
      text.subarray(at * 65_536, (at + 1) * 65_536),
    );
    expect(read(pieces).messages).toEqual([...expected, answer(8, "next")]);
  });
});

describe("the data of a result", () => {
  it("is kept to the last digit, where it has integers that JSON.parse rounds", () => {
    const data = (text: string): string | undefined =>
      dataText((readMessage(`{"id":1,"result":{"structuredContent":${text}}}`) as { result: object }).result as never);
    expect(data('{"a":[9007199254740993],"b":"9007199254740993","c":1.5}')).toBe(
      '{"a":[9007199254740993],"b":"9007199254740993","c":1.5}',
    );
    expect(data('{"a":1}')).toBe('{"a":1}');
    expect(dataText({})).toBeUndefined();
  });
});

describe("a stream of events", () => {
  async function* of(pieces: readonly string[], fault?: Error): AsyncGenerator<Uint8Array> {
    for (const piece of pieces) yield await Promise.resolve(Buffer.from(piece));
    if (fault !== undefined) throw fault;
  }
  const eventsOf = async (pieces: readonly string[], asked: unknown, fault?: Error): Promise<string> => {
    let text = "";
    for await (const bytes of readableEvents(of(pieces, fault), asked)) text += Buffer.from(bytes).toString();
    return text;
  };
  const answered = `event: message\ndata: ${JSON.stringify(answer(1, "a"))}\n\n`;

  it("is the same, cut at every position", async () => {
    const text = `: ping\n\nretry: 5\n${answered}`;
    for (let at = 0; at <= text.length; at += 1)
      expect(await eventsOf([text.slice(0, at), text.slice(at)], 1)).toBe(text);
  });

  it("leaves out what is too long, and says so", async () => {
    expect(await eventsOf([`data: ${JSON.stringify(answer(1, long))}\n\n`], 1)).toBe(
      `data: ${JSON.stringify(failure(1))}\n\n`,
    );
  });

  it("ends with a failure where the answer does not come, unless it can be taken up again or is of no request", async () => {
    const ended = (why: string): string =>
      `"id":1,"error":{"code":-32000,"message":"the connection ended without an answer${why}"}`;
    expect(await eventsOf([": ping\n\n"], 1)).toContain(ended(""));
    expect(await eventsOf(["data: {"], 1, new Error("reset"))).toContain(ended(": reset"));
    expect(await eventsOf([answered], 1)).toBe(answered);
    expect(await eventsOf(["id: 5\ndata: \n\n"], 1)).not.toContain("error");
    await expect(eventsOf([answered], 1, new Error("reset"))).rejects.toThrow("reset");
    await expect(eventsOf([": ping\n\n"], undefined, new Error("reset"))).rejects.toThrow("reset");
  });
});
