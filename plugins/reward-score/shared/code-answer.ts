import type { Extraction } from "./scored.ts";

const FENCE = "```";

/** The program in an answer: after the last ```` ```python ````, else in the first fence, without a line that names its language. */
export function fencedCode(text: string): Extraction {
  const python = text.lastIndexOf(`${FENCE}python`);
  if (python >= 0) return { answer: text.slice(python + 9).split(FENCE, 1)[0]!, by: "python_fence" };
  const [, code] = text.split(FENCE, 2);
  if (code === undefined) return { answer: null, reason: "no_code_fence" };
  const end = code.indexOf("\n");
  const named = end >= 0 && /^\p{L}+$/u.test(code.slice(0, end).trim());
  return { answer: named ? code.slice(end + 1) : code, by: "fence" };
}

/** One run of a program: what it reads, and what it must print; null: it must only end well. */
export interface TestCase {
  readonly stdin: string;
  readonly expected: string | null;
  /** Lines that come after the program. */
  readonly assertion?: string;
}

export interface TestCases {
  readonly cases: readonly TestCase[];
  /** The function to call with each line of the input as a JSON argument; absent: the program reads its input itself. */
  readonly fnName?: string;
}

/** Reads verl's `{ inputs, outputs, fn_name?, assert_case? }`, an object or its JSON. @throws TypeError when it is something else. */
export function readTestCases(truth: unknown): TestCases {
  const given = (typeof truth === "string" ? JSON.parse(truth) : truth) as Record<string, unknown> | null;
  const asserts: unknown[] = Array.isArray(given?.["assert_case"]) ? given["assert_case"] : [];
  const inputs = given?.["inputs"] ?? asserts.map(() => "");
  const outputs = given?.["outputs"] ?? asserts.map(() => null);
  if (!Array.isArray(inputs) || !Array.isArray(outputs) || inputs.length === 0 || inputs.length !== outputs.length)
    throw new TypeError("the ground truth has no `inputs` and `outputs` of one length");
  const fnName = given?.["fn_name"] ?? undefined;
  if (fnName !== undefined && (typeof fnName !== "string" || !/^[A-Za-z_][A-Za-z0-9_]{0,200}$/.test(fnName)))
    throw new TypeError("the ground truth's `fn_name` is no name of a function");
  const cases = inputs.map((input: unknown, i): TestCase => {
    const output: unknown = outputs[i];
    const assertion = asserts[i];
    return {
      stdin: asText(input),
      expected: output === null || output === undefined ? null : asText(output),
      ...(typeof assertion === "string" && { assertion }),
    };
  });
  return { cases, ...(fnName !== undefined && { fnName }) };
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/**
 * The program for one case. A called function is a method of `Solution` or stands alone; its result is printed as JSON where it is a
 * list, an object, a truth value or nothing.
 */
export function programFor(code: string, { assertion }: TestCase, fnName?: string): string {
  const checked = assertion === undefined ? code : `${code}\n${assertion}`;
  if (fnName === undefined) return checked;
  return `${checked}

import json as _json, sys as _sys
_arguments = [_json.loads(_line) for _line in _sys.stdin.read().split("\\n") if _line.strip()]
_method = getattr(Solution(), "${fnName}", None) if "Solution" in globals() else None
_result = (${fnName} if _method is None else _method)(*_arguments)
if _result is None or isinstance(_result, (bool, dict, list, tuple)):
    print(_json.dumps(_result))
else:
    print(str(_result))
`;
}
