/** A piece of an answer. `command` is a LaTeX command or a function by name; `word` is text of letters, such as a unit. */
export interface Token {
  type: "number" | "symbol" | "command" | "word" | "sign";
  text: string;
  /** Of an opening bracket: where the token that closes it is, and whether commas part what it holds. */
  close?: number;
  listed?: boolean;
}

/** Functions of one argument, by their LaTeX names; plain text may leave the backslash out. */
export const FUNCTIONS: ReadonlySet<string> = new Set(
  "sin cos tan cot sec csc arcsin arccos arctan sinh cosh tanh ln log exp".split(" "),
);

const PLAIN_COMMANDS = new Set([...FUNCTIONS, "sqrt", "pi", "infty"]);
const NAMED_COMMANDS: Readonly<Record<string, string>> = { infinity: "infty" };
const SKIPPED = new Set(
  "left right big Big bigg Bigg bigl bigr Bigl Bigr displaystyle textstyle limits quad qquad mathbf textbf mathit boldsymbol bm mathbb".split(
    " ",
  ),
);
const TEXT = new Set(["text", "mbox", "mathrm", "textrm", "textit", "textup", "operatorname"]);
const RENAMED: Readonly<Record<string, string>> = {
  lbrace: "\\{",
  rbrace: "\\}",
  cdot: "*",
  times: "*",
  ast: "*",
  div: "/",
  le: "<=",
  leq: "<=",
  leqslant: "<=",
  ge: ">=",
  geq: ">=",
  geqslant: ">=",
  lt: "<",
  gt: ">",
  ne: "!=",
  neq: "!=",
  in: "in",
  lvert: "|",
  rvert: "|",
  vert: "|",
  mid: "|",
};
/** Commands under several names. */
const COMMANDS: Readonly<Record<string, string>> = {
  dfrac: "frac",
  tfrac: "frac",
  cfrac: "frac",
  dbinom: "binom",
  tbinom: "binom",
  varnothing: "emptyset",
};
const CHARACTERS: Readonly<Record<string, string>> = {
  "−": "-",
  "–": "-",
  "×": "*",
  "·": "*",
  "⋅": "*",
  "÷": "/",
  "≤": "<=",
  "≥": ">=",
  "≠": "!=",
  "∈": "in",
  π: "\\pi",
  "∞": "\\infty",
  "√": "\\sqrt",
  "∪": "\\cup",
  "∩": "\\cap",
  "±": "\\pm",
  "∅": "\\emptyset",
};
const UNIT =
  /^(?:[cmk]m|kg|gm|mph|feet|foot|ft|inch(?:es)?|(?:(?:centi|kilo)?meter|mile|hour|minute|second|day|week|month|year|dollar|cent|degree|unit|point|digit|student|liter|yard|pound)s?|square)$/i;
const SEPARATORS = new Set(["or", "and"]);

// Sticky, each with one way to match: a response cannot make them look back.
const SPACE = /[\s~]+|\\[!,;: ]|\\?\$|\\[()[\]]|\^\s?(?:\{\s?\\circ\s?\}|\\circ)|°|\\degree/y;
const NUMBER = /[1-9]\d{0,2}(?:(?:,|\{,\}|,\\!|\\[!, ]|~)\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+/y;
const LETTERS = /[A-Za-z]+/y;
const COMMAND = /\\([A-Za-z]+|[{}%\\|])/y;
const MATRIX = /\\(begin|end)\{(?:[bpvBV]?matrix|array)\}(?:\{[lcr|]{0,40}\})?/y;
const SIGN = /\*\*|<=|>=|!=|[-+*/^_()[\]{},;=<>!|%&]/y;

/** The tokens of an answer; undefined: it holds something that is no mathematics. One pass. */
export function tokenize(text: string): Token[] | undefined {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found !== null) at = pattern.lastIndex;
    return found;
  };
  const sign = (name: string): void => void tokens.push({ type: "sign", text: name });

  while (at < text.length) {
    if (match(SPACE)) continue;
    const matrix = match(MATRIX);
    if (matrix !== null) {
      tokens.push({ type: "command", text: matrix[1]! });
      continue;
    }
    const number = match(NUMBER);
    if (number !== null) {
      tokens.push({ type: "number", text: number[0].replace(/[,{}\\!~ ]/g, "") });
      continue;
    }
    const letters = match(LETTERS);
    if (letters !== null) {
      tokens.push(...lettersAsTokens(letters[0]));
      continue;
    }
    const command = match(COMMAND);
    if (command !== null) {
      const name = command[1]!;
      if (SKIPPED.has(name)) continue;
      if (name.length === 1 && !/[A-Za-z]/.test(name)) sign(name === "%" || name === "|" ? name : `\\${name}`);
      else if (TEXT.has(name)) {
        const group = groupAt(text, at);
        if (group === undefined) return undefined;
        const word = group.trim().toLowerCase();
        // A group without letters is read as mathematics in braces.
        if (!/\p{L}/u.test(word)) continue;
        at = text.indexOf(group, at) + group.length + 1;
        if (SEPARATORS.has(word)) sign(",");
        else tokens.push({ type: "word", text: word });
      } else if (Object.hasOwn(RENAMED, name)) sign(RENAMED[name]!);
      else tokens.push({ type: "command", text: COMMANDS[name] ?? name });
      continue;
    }
    const found = match(SIGN);
    if (found !== null) {
      sign(found[0] === "**" ? "^" : found[0]);
      continue;
    }
    const [character] = text.slice(at, at + 2);
    at += character!.length;
    const meant = CHARACTERS[character!];
    if (meant?.startsWith("\\")) tokens.push({ type: "command", text: meant.slice(1) });
    else if (meant !== undefined) sign(meant);
    else if (/\p{L}/u.test(character!)) tokens.push({ type: "symbol", text: character! });
    else if (character !== "." || at < text.length) return undefined;
  }
  matchBrackets(tokens);
  return tokens;
}

/** Up to three letters are a product of variables; a longer run is a word, unless it is a function's name. */
function lettersAsTokens(run: string): Token[] {
  if (SEPARATORS.has(run)) return [{ type: "sign", text: "," }];
  if (PLAIN_COMMANDS.has(run)) return [{ type: "command", text: run }];
  if (run === "percent") return [{ type: "sign", text: "%" }];
  if (Object.hasOwn(NAMED_COMMANDS, run)) return [{ type: "command", text: NAMED_COMMANDS[run]! }];
  if (run.length > 3 || UNIT.test(run)) return [{ type: "word", text: run.toLowerCase() }];
  return Array.from(run, (text): Token => ({ type: "symbol", text }));
}

/** What the braces that start at `at` hold; undefined: no braces, or they never close. */
function groupAt(text: string, at: number): string | undefined {
  if (text[at] !== "{") return undefined;
  let depth = 0;
  for (let i = at; i < text.length; i++) {
    if (text[i] === "{") depth++;
    else if (text[i] === "}" && --depth === 0) return text.slice(at + 1, i);
  }
  return undefined;
}

const CLOSES: Readonly<Record<string, string>> = { "(": ")]", "[": ")]", "{": "}", "\\{": "\\}" };

/** Pairs brackets; half-open intervals pair `(` with `]`. */
function matchBrackets(tokens: Token[]): void {
  const open: Token[] = [];
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "sign") continue;
    const top = open.at(-1);
    if (token.text in CLOSES) open.push(token);
    else if (token.text === "," && top !== undefined) top.listed = true;
    else if (top !== undefined && CLOSES[top.text]!.includes(token.text) && /[)\]}]$/.test(token.text)) {
      top.close = index;
      open.pop();
    }
  }
}
