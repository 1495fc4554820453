import { afterEach, describe, expect, it } from "@jest/globals";
import type { RewardManager, ScoreFunction } from "../../core/reward/reward-manager.ts";
import { JsonClient } from "../../core/reward/service/json-client.ts";
import { scoreBatch } from "../../core/reward/score-batch.ts";
import { errorOf, SORT_MODEL } from "../data/helpers.ts";
import { serve, type Reply, type Request, type Service } from "./service.ts";
import { batchOf, createManager } from "./support.ts";

let services: Service[] = [];

afterEach(async () => {
  await Promise.all(services.map((service) => service.close()));
  services = [];
});

async function service(
  reply: (request: Request, call: number) => Reply | Promise<Reply>,
  delayMs = 0,
): Promise<Service> {
  const started = await serve(reply, delayMs);
  services.push(started);
  return started;
}

const QUICK = { backoff_s: 0.01, timeout: 10 };
const briefly = async (manager: RewardManager, answers: string[], columns = {}): Promise<(number | string)[]> => {
  const rewards = await scoreBatch(manager, batchOf(answers, columns), { validate: false });
  return rewards.map((reward) => ("score" in reward ? reward.score : reward.unscored));
};

describe("the reward manager remote", () => {
  const manager = (url: string, options: object = {}) =>
    createManager("remote", { options: { url, ...QUICK, ...options } });
  const lengths = ({ body }: Request): Reply => ({
    json: { results: (body["samples"] as { solution_str: string }[]).map(({ solution_str }) => solution_str.length) },
  });

  it("sends samples in batches, a few at once, with its token", async () => {
    process.env["TEST_JUDGE_TOKEN"] = "s3cret";
    const { url, requests } = await service(lengths);
    const { manager: remote, log } = manager(`${url}/score`, { batch_size: 2, token_env: "TEST_JUDGE_TOKEN" });
    const columns = {
      extra_info: [{ index: 2n ** 60n }, null, null],
      reward_model: [{ ground_truth: "x" }, null, null],
    };
    expect(await briefly(remote, ["a", "bb", "ccc"], columns)).toEqual([1, 2, 3]);
    expect(requests.map(({ url: path, headers }) => [path, headers.authorization])).toEqual([
      ["/score", "Bearer s3cret"],
      ["/score", "Bearer s3cret"],
    ]);
    const [first] = requests.find(({ body }) => (body["samples"] as unknown[]).length === 2)!.body[
      "samples"
    ] as object[];
    expect(first).toMatchObject({ id: "u0", data_source: "s", solution_str: "a", ground_truth: "x" });
    expect(JSON.stringify(log.lines)).not.toContain("s3cret");
  });

  it("takes parts, and the service's own reasons", async () => {
    const { url } = await service(() => ({
      json: { results: [{ score: 0.5, format: 1 }, { unscored: "no such task" }, "text"] },
    }));
    const rewards = await scoreBatch(manager(url).manager, batchOf(["a", "b", "c"]), { validate: false });
    expect(rewards).toEqual([
      { score: 0.5, extra: { format: 1 } },
      { unscored: "error: the scoring service: no such task", extra: {} },
      { unscored: 'not_a_number: the score function returned the string "text"', extra: {} },
    ]);
  });

  it.each<[string, Reply]>([
    ["a 500", { status: 500 }],
    ["a 429 with Retry-After", { status: 429, headers: { "retry-after": "0" } }],
    ["a line that breaks", "drop"],
    ["a stall", "stall"],
  ])("asks again after %s", async (_, fault) => {
    const { url, requests } = await service((request, call) => (call === 1 ? fault : lengths(request)));
    const { manager: remote, metrics } = manager(url, { timeout: fault === "stall" ? 2 : 10 });
    expect(await briefly(remote, ["abc"])).toEqual([3]);
    expect(requests).toHaveLength(2);
    expect(metrics.finish()).toMatchObject({ "reward/service/retries/count": 1 });
  });

  it.each<[string, Reply, RegExp]>([
    ["a refusal", { status: 403, text: "no entry" }, /HTTP 403: no entry/],
    ["garbage", { raw: "<html>" }, /no JSON: <html>/],
    ["too many bytes", { raw: `"${"x".repeat(3000)}"` }, /more than 1024 bytes/],
    ["another number of results", { json: { results: [1, 2] } }, /2 results for 1 samples/],
    ["no results", { json: null }, /no list `results`/],
    ["a redirect", { status: 307, headers: { location: "http://127.0.0.1:9/" } }, /redirect/],
  ])("leaves answers unscored after %s, at once", async (_, fault, reason) => {
    const { url, requests } = await service(() => fault);
    const { manager: remote } = manager(url, { max_response_mb: 1 / 1024 });
    const [result] = await briefly(remote, ["abc"]);
    expect(result).toMatch(/^error: the scoring service: /);
    expect(result).toMatch(reason);
    expect(requests).toHaveLength(1);
  });

  it("keeps requests small: a sample that is too large alone stays unscored", async () => {
    const { url, requests } = await service(lengths);
    const { manager: remote } = manager(url, { max_request_mb: 0.0002 });
    const extra_info = [null, null, { text: "x".repeat(1000) }, null];
    const results = await briefly(remote, ["a", "b", "c", "d"], { extra_info });
    expect(results).toEqual([1, 1, expect.stringMatching(/^error: the sample has \d+ bytes/), 1]);
    expect(requests.length).toBeGreaterThan(1);
  });

  it("needs the token that it was told to send, and warns where it would go unencrypted", async () => {
    const error = await errorOf(() => manager("http://127.0.0.1:9/", { token_env: "NO_SUCH_VARIABLE" }));
    expect(error).toMatchObject({ code: "VERL_OPTIONS_INVALID" });
    process.env["TEST_JUDGE_TOKEN"] = "s3cret";
    const { log } = manager("http://judge.example/", { token_env: "TEST_JUDGE_TOKEN" });
    expect(log.lines).toEqual([expect.stringContaining("unencrypted")]);
    expect((await errorOf(() => manager("file:///etc/passwd"))).code).toBe("VERL_OPTIONS_INVALID");
  });

  it("ends with the run", async () => {
    const { url } = await service(() => "stall");
    const stop = new AbortController();
    const { manager: remote } = manager(url, { timeout: 30 });
    const work = remote.score(batchOf(["a"]), { validate: false, signal: stop.signal });
    setTimeout(() => stop.abort(new Error("the run has ended")), 50);
    await expect(work).rejects.toThrow("the run has ended");
  });
});

describe("the reward manager rate_limited", () => {
  const ask = (url: string): ScoreFunction => {
    const client = new JsonClient({ url, maxBytes: 1000, timeoutS: 5 });
    return async ({ solution_str, signal }) => {
      return ((await client.post({ text: solution_str }, signal)) as { score: number }).score;
    };
  };

  it("asks a judge under its limits, again where it is busy", async () => {
    let second: () => void;
    const isSecond = new Promise<void>((resolve) => (second = resolve));
    const judge = await service(async (_request, call) => {
      // The first is not answered before the second has come beside it.
      if (call === 1) await isSecond;
      if (call === 2) second();
      return call % 3 === 0 ? { status: 429, headers: { "retry-after": "0" } } : { json: { score: 0.5 } };
    }, 5);
    const { manager, metrics } = createManager("rate_limited", {
      functions: { get: () => ask(judge.url) },
      options: { ...QUICK, max_concurrent: 2 },
    });
    expect(await briefly(manager, ["a", "b", "c", "d", "e"])).toEqual([0.5, 0.5, 0.5, 0.5, 0.5]);
    expect(judge.most).toBe(2);
    expect(metrics.finish()["reward/service/retries/count"]).toBeGreaterThan(0);
  });

  it("leaves an answer unscored whose function throws or is late", async () => {
    const score: ScoreFunction = ({ solution_str, signal }) => {
      if (solution_str === "a") throw new Error("broken");
      if (solution_str === "b") return 1;
      return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason as Error)));
    };
    const options = { ...QUICK, timeout: 0.05 };
    const { manager } = createManager("rate_limited", { functions: { get: () => score }, options });
    expect(await briefly(manager, ["a", "b", "c"])).toEqual([
      "error: Error: broken",
      1,
      "timeout: timed out after 0.05 s",
    ]);
  });
});

describe("the reward manager model", () => {
  const prompt = [{ role: "user", content: "dcb" }];
  const columns = (count: number) => ({ raw_prompt: Array.from({ length: count }, () => prompt) });
  const manager = (options: Record<string, unknown>) =>
    createManager("model", { options: { model: "rm", tokenizer: SORT_MODEL, ...QUICK, ...options } });

  it.each([
    ["vllm_classify", "/classify", { data: [{ probs: [0.1, 0.75] }] }],
    ["sglang_embedding", "/v1/embeddings", { data: [{ embedding: [3, 2, 0.75] }] }],
  ])("reads %s as verl does, prompt and answer in the model's own template", async (kind, path, json) => {
    const { url, requests } = await service(() => ({ json }));
    const { manager: model } = manager({ url: `${url}/`, kind });
    await model.load!();
    expect(await briefly(model, ["bcd"], columns(1))).toEqual([0.75]);
    const [{ url: asked, body }] = requests as [Request];
    expect(asked).toBe(path);
    expect(body).toEqual({ model: "rm", input: expect.stringMatching(/dcb.*bcd/s), activation: false });
  });

  it.each([{}, { data: [] }, { data: [{ probs: [] }] }, { data: [{ probs: ["1"] }] }, null])(
    "has no score for %j",
    async (json) => {
      const { url } = await service(() => ({ json }));
      const [result] = await briefly(manager({ url }).manager, ["bcd"], columns(1));
      expect(result).toBe("error: the reward model: the answer has no number in data[-1].probs");
    },
  );

  it("needs a tokenizer for a reward model, and a scale for a judge", async () => {
    expect((await errorOf(() => manager({ url: "http://127.0.0.1:9", tokenizer: null }))).code).toBe(
      "VERL_OPTIONS_INVALID",
    );
    const empty = { url: "http://127.0.0.1:9", kind: "judge", scale: [5, 5] };
    expect((await errorOf(() => manager(empty))).message).toContain("which no score lies in");
  });

  const completion = (content: unknown, finish_reason = "stop"): Reply => ({
    json: { choices: [{ message: { content }, finish_reason }] },
  });
  const judge = (url: string, more: object = {}) =>
    manager({ url, kind: "judge", tokenizer: null, rubric: "Is it sorted?", scale: [1, 5], ...more }).manager;

  it("asks a judge with the rubric, and quotes the answer so that it cannot speak for itself", async () => {
    const { url, requests } = await service(() =>
      completion('<think>maybe {"score": 1}?</think> {"note": {"a": 1}}\n{"reason": "in order", "score": 4}\n'),
    );
    const batch = batchOf(["bcd"], columns(1));
    const rewards = await scoreBatch(judge(url, { structured: true }), batch, { validate: false });
    expect(rewards).toEqual([{ score: 0.75, extra: { judge_score: 4, judge_reason: "in order" } }]);
    const [{ url: path, body }] = requests as [Request];
    expect(path).toBe("/v1/chat/completions");
    expect(body).toMatchObject({ model: "rm", temperature: 0, max_tokens: 1024 });
    const [system, user] = body["messages"] as { role: string; content: string }[];
    expect(system!.content).toContain("Is it sorted?");
    expect(system!.content).toContain("from 1 to 5");
    const [, mark] = /Answer \(between the marks ([0-9a-f]{16})\):/.exec(user!.content)!;
    expect(user!.content.split(mark!)).toHaveLength(10);
    expect(user!.content).toContain(`${mark}\nbcd\n${mark}`);
    expect(body["response_format"]).toMatchObject({ type: "json_schema" });
  });

  it.each([
    ["I cannot say.", "stop", "the judge gave no score"],
    ['{"score": "4"}', "stop", "the judge gave no score"],
    ['{"score": 9}', "stop", "the judge's score 9 is not from 1 to 5"],
    ["Let me th", "length", "it was cut at max_tokens"],
    [null, "stop", "the completion has no text"],
    ["{".repeat(100_000), "stop", "the judge gave no score"],
    ["}".repeat(100_000), "stop", "the judge gave no score"],
  ])("%#: has no score for a judge that gives none", async (content, finish, reason) => {
    const { url } = await service(() => completion(content, finish));
    const [result] = await briefly(judge(url), ["bcd"], columns(1));
    expect(result).toContain(`error: the reward model: `);
    expect(result).toContain(reason);
  });
});
