import { beforeAll, describe, expect, it } from "@jest/globals";
import { loadPlugins, provide, registerPlugin, definePlugin } from "../../core/registry/index.ts";
import { ToolParser, type ParsedAnswer, type StreamOptions, type ToolParserStream } from "../../core/agent/index.ts";
import { testToolParser, type ToolParserCase } from "../../core/testing/index.ts";
import { collect, failed } from "./collect.ts";

/** Reads `[f]` as a call of `f`, with whatever fault a test wants. */
abstract class Bracket extends ToolParser {
  stream({ onDelta }: StreamOptions = {}): ToolParserStream {
    let text = "";
    return {
      push: (piece) => void (text = this.join(text, piece)),
      end: ({ finishReason } = {}) => {
        const answer = this.read(text, finishReason === "length");
        if (answer.content !== "") onDelta?.({ type: "content", text: answer.content });
        answer.calls.forEach((call, index) => onDelta?.({ type: "call", index, call }));
        answer.errors.forEach((error) => onDelta?.({ type: "error", error }));
        return answer;
      },
    };
  }

  protected join(text: string, piece: string): string {
    return text + piece;
  }

  protected read(text: string, cut: boolean): ParsedAnswer {
    const names = [...text.matchAll(/\[(\w{1,20})\]/g)].map(([, name]) => name!);
    const content = text.replace(/\[\w{1,20}\]/g, "");
    const calls = names.map((name) => ({ name, arguments: {} }));
    const errors = names.map((name) => ({ raw: `[${name}]`, reason: "cut off" }));
    return { content, reasoning: "", calls: cut ? [] : calls, errors: cut ? errors : [] };
  }
}

class Sound extends Bracket {}
class Throws extends Bracket {
  protected override read(text: string, cut: boolean): ParsedAnswer {
    if (text.includes("}")) throw new Error("a brace");
    return super.read(text, cut);
  }
}
class FirstPiece extends Bracket {
  protected override join(text: string, piece: string): string {
    return text === "" ? piece : text;
  }
}
class RunsCut extends Bracket {
  protected override read(text: string): ParsedAnswer {
    return super.read(text, false);
  }
}
class Quadratic extends Bracket {
  protected override read(text: string, cut: boolean): ParsedAnswer {
    let seen = 0;
    for (let i = 0; i < text.length; i += 3) for (let j = i; j < text.length; j += 3) seen += text.charCodeAt(j);
    return seen < 0 ? super.read("", cut) : super.read(text, cut);
  }
}
class Trims extends Bracket {
  protected override read(text: string, cut: boolean): ParsedAnswer {
    return super.read(text.trim(), cut);
  }
}

const CASES: ToolParserCase[] = [
  {
    name: "a call",
    input: { text: "Well [sum]" },
    expected: { content: "Well", calls: [{ name: "sum", arguments: {} }] },
  },
];
const PARSERS = {
  sound: Sound,
  throws: Throws,
  first_piece: FirstPiece,
  runs_cut: RunsCut,
  quadratic: Quadratic,
  trims: Trims,
};

beforeAll(async () => {
  await loadPlugins([]);
  const provides = Object.entries(PARSERS).map(([key, create]) =>
    provide("tool_parser", `bracket_${key}`, { description: "A name in brackets.", create }),
  );
  registerPlugin(definePlugin({ name: "brackets", version: "1.0.0", verl: "*", provides }));
});

const results = (key: string, only?: readonly string[], cases = CASES) =>
  collect((runner) => testToolParser(`bracket_${key}`, { cases, ...runner }), only);

describe("the suite of tool parsers", () => {
  it("passes a sound parser", async () => {
    expect(failed(await results("sound"))).toEqual([]);
  });

  it.each([
    ["throws", "calls have a name and arguments, errors a text and a reason", "it threw Error: a brace"],
    ["first_piece", "pieces give the same as the whole", "The smallest text that shows it"],
    ["runs_cut", "of an answer that was cut off no call is run, and none is lost", "it runs"],
    ["quadratic", "hostile texts take linear time", "for four times as many"],
    ["trims", "text without any mark is content, letter for letter", "as something else"],
  ])("finds the fault of one that is wrong: %s", async (key, property, message) => {
    expect((await results(key, [property]))[property]).toContain(message);
  });

  it("tells what a golden case has instead", async () => {
    const wrong = [{ ...CASES[0]!, expected: { content: "Well", calls: [{ name: "add", arguments: {} }] } }];
    const name = 'golden case "a call"';
    const found = await results("sound", [name], wrong);
    expect(found[name]).toContain('calls are [{"name":"sum","arguments":{}}], not');
  });
});
