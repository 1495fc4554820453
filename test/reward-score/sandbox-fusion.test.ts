import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "@jest/globals";
import { sandboxFusion } from "../../plugins/reward-score/sandbox-fusion.ts";
import { scored, STRICT } from "./score.ts";

interface Sent {
  code: string;
  stdin: string;
  memory_limit_MB: number;
  [field: string]: unknown;
}

/** What a service answers; a number is a bare HTTP status, `undefined` never comes. */
type Reply = object | number | string | undefined;

let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  if (server) await once(server, "close");
  server = undefined;
});

/** A service that speaks the recorded protocol; the program's text says what comes of it. */
async function service(
  reply: (sent: Sent, call: number) => Reply | Promise<Reply>,
): Promise<{ url: string; sent: Sent[] }> {
  const sent: Sent[] = [];
  server = createServer((request, response) => {
    void (async () => {
      const body = JSON.parse(await textOf(request)) as Sent;
      sent.push(body);
      const answer = await reply(body, sent.length);
      if (answer === undefined) return;
      response.statusCode = typeof answer === "number" ? answer : 200;
      response.end(typeof answer === "object" ? JSON.stringify(answer) : String(answer));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/run_code`, sent };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += String(chunk);
  return text;
}

const finished = (stdout: string): object => ({
  status: "Success",
  message: "",
  compile_result: null,
  run_result: { status: "Finished", execution_time: 0.01, return_code: 0, stdout, stderr: "" },
  executor_pod_name: null,
  files: {},
});
const failedRun = (run: object, compile: object | null = null): object => ({
  ...finished(""),
  status: "Failed",
  compile_result: compile,
  run_result: run,
});
const PROGRAM = "Here:\n```python\nprint(input())\n```\nDone.";
const echo = (...texts: string[]): object => ({ inputs: texts, outputs: texts.map((text) => `${text}\n`) });

describe("sandbox_fusion", () => {
  it("sends each case as the service asks, and counts what passes", async () => {
    const { url, sent } = await service(({ stdin }) => finished(stdin === "b" ? "x\n" : `${stdin}\n\n`));
    const options = { sandbox_fusion_url: url, memory_limit_mb: 256, timeout: 3 };
    const result = await scored(sandboxFusion, PROGRAM, JSON.stringify(echo("a", "b", "c", "d")), options);
    expect(result).toMatchObject({
      score: 0.75,
      acc: false,
      passed: 3,
      cases: 4,
      extracted: "\nprint(input())\n",
      extracted_by: "python_fence",
      matched_rule: "wrong_answer",
    });
    expect(sent[0]).toEqual({
      compile_timeout: 3,
      run_timeout: 3,
      code: "\nprint(input())\n",
      stdin: "a",
      memory_limit_MB: 256,
      language: "python",
      files: {},
      fetch_files: [],
    });
  });

  it.each([
    ["runtime_error", failedRun({ status: "Finished", return_code: 1, stderr: "NameError: x" }), "NameError: x"],
    ["timeout", failedRun({ status: "TimeLimitExceeded", return_code: null, stderr: "" }), ""],
    ["compile_error", failedRun({}, { status: "Error", stderr: "no such type" }), "no such type"],
  ])("tells a %s from a wrong answer", async (rule, reply, detail) => {
    const { url, sent } = await service(() => reply);
    const result = await scored(sandboxFusion, PROGRAM, echo("a", "b"), { sandbox_fusion_url: url });
    expect(result).toMatchObject({ score: 0, matched_rule: rule, first_failure: detail, api_errors: 0 });
    expect(sent).toHaveLength(rule === "compile_error" ? 1 : 2);
  });

  it.each([
    ["a refusal", 500, "HTTP 500"],
    ["a page instead of JSON", "<html>", ""],
    ["a broken sandbox", { status: "SandboxError", message: "no pod" }, "SandboxError: no pod"],
  ])("has no score after %s: the service's fault is not the answer's", async (_, reply, reason) => {
    const { url } = await service(() => reply);
    await expect(scored(sandboxFusion, PROGRAM, echo("a", "b"), { sandbox_fusion_url: url })).rejects.toThrow(
      `no result for 2 of 2 test cases: ${reason}`,
    );
  });

  it("counts a case that the service failed as failed, or in strict mode gives no score", async () => {
    const { url } = await service(({ stdin }) => (stdin === "b" ? 500 : finished(stdin)));
    const options = { sandbox_fusion_url: url };
    expect(await scored(sandboxFusion, PROGRAM, echo("a", "b"), options)).toMatchObject({ score: 0.5, api_errors: 1 });
    await expect(scored(sandboxFusion, PROGRAM, echo("a", "b"), { ...options, ...STRICT })).rejects.toThrow("1 of 2");
  });

  it("asks again after a 504", async () => {
    const { url, sent } = await service(({ stdin }, call) => (call === 1 ? 504 : finished(stdin)));
    expect(await scored(sandboxFusion, PROGRAM, echo("a"), { sandbox_fusion_url: url })).toMatchObject({ score: 1 });
    expect(sent).toHaveLength(2);
  });

  it("runs no more cases at once than allowed, of all samples together", async () => {
    let running = 0;
    let most = 0;
    let third: () => void;
    const isThird = new Promise<void>((resolve) => (third = resolve));
    const { url } = await service(async ({ stdin }, call) => {
      most = Math.max(most, ++running);
      // The first is not answered before the third has come beside it.
      if (call === 1) await isThird;
      if (call === 3) third();
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      return finished(stdin);
    });
    const options = { sandbox_fusion_url: url, max_concurrent: 3 };
    const samples = [1, 2, 3, 4].map(() => scored(sandboxFusion, PROGRAM, echo("a", "b", "c"), options));
    expect((await Promise.all(samples)).map(({ score }) => score)).toEqual([1, 1, 1, 1]);
    expect(most).toBe(3);
  });

  it("stops when its signal fires, those in line too", async () => {
    const { url } = await service(() => undefined);
    const abort = new AbortController();
    const options = { sandbox_fusion_url: url, signal: abort.signal, max_concurrent: 1 };
    const samples = [1, 2].map(() => scored(sandboxFusion, PROGRAM, echo("a"), options));
    setTimeout(() => abort.abort(new Error("the run has ended")), 30);
    for (const sample of await Promise.allSettled(samples))
      expect(sample).toMatchObject({ status: "rejected", reason: { message: "the run has ended" } });
  });

  it("counts ten cases with continuous, as verl, and all otherwise", async () => {
    const { url, sent } = await service(({ stdin }) => finished(stdin));
    const cases = echo(..."abcdefghijkl");
    await scored(sandboxFusion, PROGRAM, cases, { sandbox_fusion_url: url });
    expect(sent).toHaveLength(10);
    const all = await scored(sandboxFusion, PROGRAM, cases, { sandbox_fusion_url: url, continuous: false });
    expect(all).toMatchObject({ cases: 12, score: 1, acc: true, matched_rule: "all_passed" });
  });

  it("calls a named function, and puts assertions after the program", async () => {
    const { url, sent } = await service(() => finished("3"));
    const options = { sandbox_fusion_url: url };
    await scored(sandboxFusion, PROGRAM, { inputs: ["1\n2"], outputs: ["3"], fn_name: "add" }, options);
    expect(sent[0]!.code).toContain("(add if _method is None else _method)(*_arguments)");
    await scored(sandboxFusion, "```\nx = 1\n```", { assert_case: ["assert x == 1"] }, options);
    expect(sent[1]!.code).toBe("\nx = 1\n\nassert x == 1");
    await expect(
      scored(sandboxFusion, PROGRAM, { inputs: [""], outputs: [""], fn_name: "f(); evil" }, options),
    ).rejects.toThrow("no name of a function");
    expect(sent).toHaveLength(2);
  });

  it("takes the first fence without its language, and gives 0 where there is none", async () => {
    const { url } = await service(() => finished(""));
    const options = { sandbox_fusion_url: url };
    const truth = { inputs: [""], outputs: [null] };
    expect(await scored(sandboxFusion, "```py\nx\n```", truth, options)).toMatchObject({ extracted: "x\n", score: 1 });
    const none = await scored(sandboxFusion, "print(1)", truth, options);
    expect(none).toMatchObject({ score: 0, extracted: null, matched_rule: "no_code_fence" });
    await expect(scored(sandboxFusion, PROGRAM, { inputs: ["a"] }, options)).rejects.toThrow("`inputs` and `outputs`");
  });
});
