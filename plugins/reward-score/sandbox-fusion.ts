import { Limiter, type RewardScore } from "verl";
import { fencedCode, programFor, readTestCases } from "./shared/code-answer.ts";
import { runInSandbox, SANDBOX_URL_OPTION, type RunResult } from "./shared/sandbox-fusion-client.ts";
import { MODE_OPTION, type Mode, type Scored } from "./shared/scored.ts";

interface Options {
  mode?: Mode;
  continuous?: boolean;
  timeout?: number;
  memory_limit_mb?: number;
  max_concurrent?: number;
}

/** With `continuous`, verl counts no more cases. */
const CONTINUOUS_CASES = 10;

/** Programs, run against test cases by a SandboxFusion service. */
export const sandboxFusion: RewardScore = {
  description:
    "The Python program of the answer, run by a SandboxFusion service; the share of test cases that it passes.",
  paper: "FullStack Bench and SandboxFusion, arXiv 2412.00535",
  aliases: ["codecontests", "apps", "codeforces", "taco"],
  optionsSchema: {
    type: "object",
    additionalProperties: false,
    required: ["sandbox_fusion_url"],
    properties: {
      sandbox_fusion_url: SANDBOX_URL_OPTION,
      mode: MODE_OPTION,
      continuous: {
        type: "boolean",
        default: true,
        description: "The share of the first ten cases that pass; otherwise the share of all.",
      },
      timeout: { type: "number", exclusiveMinimum: 0, default: 10, description: "Seconds that one case may run." },
      memory_limit_mb: { type: "integer", minimum: 1, default: 1024, description: "Memory of one case, in MiB." },
      max_concurrent: {
        type: "integer",
        minimum: 1,
        default: 64,
        description: "Cases that run at once in the service, of all samples together.",
      },
    },
  },
  departures: [
    "Programs run in the service alone; verl runs them in its own process where no service is named.",
    "A sample of which every case failed by the service's fault has no score; verl gives 0. In strict mode one such case suffices, and the score is 1 only when all cases pass, else 0.",
  ],
  async score({ solution_str, ground_truth, signal, sandbox_fusion_url, ...options }): Promise<Scored> {
    const url = sandbox_fusion_url as string;
    const { mode = "verl", continuous = true, ...limits } = options as Options;
    const { timeout = 10, memory_limit_mb = 1024, max_concurrent = 64 } = limits;
    const { cases: all, fnName } = readTestCases(ground_truth);
    const found = fencedCode(solution_str);
    if (found.answer === null)
      return { score: 0, acc: false, extracted: null, extracted_by: null, matched_rule: found.reason };
    const code = found.answer;
    const cases = continuous && mode === "verl" ? all.slice(0, CONTINUOUS_CASES) : all;
    const limiter = limiterOf(url, max_concurrent);
    const run = async (testCase: (typeof cases)[number]): Promise<RunResult> => {
      const program = { code: programFor(code, testCase, fnName), stdin: testCase.stdin, timeout };
      const result = await limiter.run(
        () => runInSandbox(url, { ...program, memoryLimitMb: memory_limit_mb }, signal),
        signal,
      );
      const wrong = result.status === "success" && !printsExpected(result.stdout, testCase.expected);
      return wrong ? { ...result, status: "wrong_answer" } : result;
    };
    // A program that does not compile fails all cases alike: one run tells.
    const first = await run(cases[0]!);
    const results =
      first.status === "compile_error"
        ? cases.map(() => first)
        : [first, ...(await Promise.all(cases.slice(1).map(run)))];
    return verdict(results, mode, { extracted: code, extracted_by: found.by });
  },
};

function verdict(results: readonly RunResult[], mode: Mode, found: Pick<Scored, "extracted" | "extracted_by">): Scored {
  const count = (status: RunResult["status"]): number => results.filter((result) => result.status === status).length;
  const apiErrors = count("api_error");
  if (apiErrors === results.length || (mode === "strict" && apiErrors > 0)) {
    const { detail } = results.find(({ status }) => status === "api_error")!;
    throw new Error(`the sandbox gave no result for ${apiErrors} of ${results.length} test cases: ${detail}`);
  }
  const passed = count("success");
  const acc = passed === results.length;
  const failure = results.find(({ status }) => status !== "success");
  return {
    score: mode === "strict" ? Number(acc) : passed / results.length,
    acc,
    ...found,
    matched_rule: failure === undefined ? "all_passed" : failure.status,
    cases: results.length,
    passed,
    api_errors: apiErrors,
    first_failure: failure?.detail.slice(0, 500) ?? "",
  };
}

const printsExpected = (stdout: string, expected: string | null): boolean =>
  expected === null || withoutLastLineEnds(stdout) === withoutLastLineEnds(expected);

function withoutLastLineEnds(text: string): string {
  let end = text.length;
  while (text[end - 1] === "\n") end--;
  return text.slice(0, end);
}

/** One line for all samples of a service. */
const limiters = new Map<string, Limiter>();

function limiterOf(url: string, limit: number): Limiter {
  const name = `${limit} ${url}`;
  let limiter = limiters.get(name);
  if (limiter === undefined) limiters.set(name, (limiter = new Limiter(limit)));
  return limiter;
}
