import {
  ToolParser,
  type ParsedAnswer,
  type ReadOptions,
  type StreamOptions,
  type ToolCall,
  type ToolParserStream,
} from "../../core/agent/index.ts";
import { testToolParser, type ToolParserCase } from "../../core/testing/index.ts";
import { faultsOfData, testFaults } from "./faults.ts";

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

class Honest extends Bracket {}
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

class NoName extends Bracket {
  protected override read(text: string, cut: boolean): ParsedAnswer {
    const answer = super.read(text, cut);
    return { ...answer, calls: answer.calls.map((call) => ({ ...call, name: "" })) };
  }
}
class NoReason extends Bracket {
  protected override read(text: string, cut: boolean): ParsedAnswer {
    const answer = super.read(text, cut);
    return text.includes("{") ? { ...answer, errors: [{ raw: "{", reason: "" }] } : answer;
  }
}
class TellsTwice extends Bracket {
  override stream(options: StreamOptions = {}): ToolParserStream {
    const own = super.stream(options);
    const end: ToolParserStream["end"] = (given) => {
      const answer = own.end(given);
      if (answer.content !== "") options.onDelta?.({ type: "content", text: answer.content });
      return answer;
    };
    return { push: (piece) => own.push(piece), end };
  }
}
class Forgiving extends Bracket {
  protected override read(text: string, cut: boolean): ParsedAnswer {
    const answer = super.read(text, cut);
    return { ...answer, calls: answer.calls.map((call) => ({ ...call, repaired: true })) };
  }
}
class LosesCalls extends Bracket {
  protected override read(text: string, cut: boolean): ParsedAnswer {
    return { ...super.read(text, cut), ...(cut && { calls: [], errors: [] }) };
  }
}
class OneText extends Bracket {
  private text = "";
  override stream(options: StreamOptions = {}): ToolParserStream {
    this.text = "";
    const own = super.stream(options);
    return {
      push: (piece) => void (this.text += piece),
      end: (given) => {
        own.push(this.text);
        return own.end(given);
      },
    };
  }
}

/** Gives each call an argument, whatever its type is to be. */
const withArgument = (rest: Pick<ToolCall, "arguments" | "mistyped">) =>
  class extends Bracket {
    protected override read(text: string, cut: boolean): ParsedAnswer {
      const answer = super.read(text, cut);
      return { ...answer, calls: answer.calls.map((call) => ({ ...call, ...rest })) };
    }
  };
/** Reads otherwise where an option says so, but knows the option only in an answer of one piece. */
const forgets = (option: keyof ReadOptions) =>
  class extends Bracket {
    override stream(options: StreamOptions = {}): ToolParserStream {
      let pieces = 0;
      const own = super.stream();
      return {
        push: (piece) => {
          pieces += 1;
          own.push(piece);
        },
        end: (given) => {
          const answer = own.end(given);
          return options[option] && pieces === 1 ? { ...answer, reasoning: "So." } : answer;
        },
      };
    }
  };

const entry = (create: new () => ToolParser) => ({ description: "A name in brackets.", create });
const FORM = "calls have a name and arguments, errors a text and a reason";
const TYPED = "arguments have the types that a tool's schema asks for, or are told as mistyped";
const PIECES = "pieces give the same as the whole";
const CUT = "of an answer that was cut off no call is run, and none is lost";

const CASE: ToolParserCase = {
  name: "a call",
  input: { text: "Well [sum]" },
  expected: { content: "Well", calls: [{ name: "sum", arguments: {} }] },
};

testFaults("tool_parser", {
  suite: testToolParser,
  honest: entry(Honest),
  cases: [CASE],
  wrongCases: [
    [
      'calls are [{"name":"sum","arguments":{}}], not',
      { ...CASE, expected: { content: "Well", calls: [{ name: "add", arguments: {} }] } },
    ],
    ['content is "Well", not ""', { ...CASE, expected: { calls: CASE.expected.calls } }],
    ["there are 0 errors, not 1", { ...CASE, expected: { ...CASE.expected, errors: ["cut"] } }],
    [
      'no error says "late"',
      { ...CASE, config: { finishReason: "length" }, expected: { content: "Well", errors: ["late"] } },
    ],
  ],
  faults: [
    ...faultsOfData(entry(Honest)),
    { property: FORM, words: "it threw Error: a brace", entry: entry(Throws) },
    { property: FORM, words: "it reads the call", entry: entry(NoName) },
    { property: FORM, words: "it reports the error", entry: entry(NoReason) },
    { property: TYPED, words: "does not tell as mistyped", entry: entry(withArgument({ arguments: { n: 1 } })) },
    {
      property: TYPED,
      words: 'tells as mistyped "n", which is to be {"type":"string"}',
      entry: entry(withArgument({ arguments: { n: "1" }, mistyped: ["n"] })),
    },
    { property: PIECES, words: "The smallest text that shows it", entry: entry(FirstPiece) },
    ...(["tools", "strict", "recoverReasoning", "startsInReasoning"] as const).map((option) => ({
      property: PIECES,
      words: `It is read with {"${option}":`,
      entry: entry(forgets(option)),
    })),
    { property: "what is told while an answer comes adds up to it", words: "what was told", entry: entry(TellsTwice) },
    { property: CUT, words: "it runs", entry: entry(RunsCut) },
    { property: CUT, words: "are missing from the errors", entry: entry(LosesCalls) },
    { property: "strict reading accepts no repaired call", words: "it accepts", entry: entry(Forgiving) },
    { property: "answers do not know of each other", words: "beside another answer", entry: entry(OneText) },
    {
      property: "text without any mark is content, letter for letter",
      words: "as something else",
      entry: entry(Trims),
    },
    { property: "hostile texts take linear time", words: "for four times as many", entry: entry(Quadratic) },
  ],
});
