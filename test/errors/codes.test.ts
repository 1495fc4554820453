import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { ERROR_CODES, exitCodeOf, VerlError, type ErrorCode } from "../../core/errors/index.ts";
// @ts-expect-error -- a plain script without types
import { errorsPage } from "../../scripts/docs/errors.mjs";

const root = join(import.meta.dirname, "../..");
const codes = Object.keys(ERROR_CODES);

/** Every code that is written as a string somewhere in the TypeScript files of a folder. */
function codesIn(folder: string): Set<string> {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
  const sources = files.filter((file) => file.endsWith(".ts") && file !== join("errors", "codes.ts"));
  const text = sources.map((file) => readFileSync(join(root, folder, file), "utf8")).join("\n");
  return new Set([...text.matchAll(/"(VERL_[A-Z_]+)"/g)].map(([, code]) => code!));
}

const exitCode = (code: ErrorCode): number => exitCodeOf(new VerlError(code, "x"));

describe("the exit code", () => {
  const areaOf = (code: string): string => code.split("_")[1]!;
  /** Areas of one exit code, and the codes of the other one in them. */
  const AREAS: Record<string, [exit: number, ...others: ErrorCode[]]> = {
    // What a command is given.
    CLI: [2, "VERL_CLI_WRITE"],
    CONFIG: [2],
    CONTROLLER: [2, "VERL_CONTROLLER_PROTOCOL"],
    DATA: [2, "VERL_DATA_SAMPLER"],
    ENTRY: [2, "VERL_ENTRY_FAILED"],
    FIELD: [2],
    INJECT: [2],
    KIND: [2],
    MODEL: [2],
    OPTIONS: [2],
    PLUGIN: [2],
    REGISTRY: [2, "VERL_REGISTRY_FROZEN"],
    REPORT: [2],
    SAFETENSORS: [2],
    TRACE: [2],
    // What happens while it works.
    BACKEND: [1, "VERL_BACKEND_REQUEST"],
    BATCH: [1],
    CHECKPOINT: [1, "VERL_CHECKPOINT_MISSING"],
    DISPATCH: [1],
    DOCTOR: [1],
    ENGINE: [1, "VERL_ENGINE_STATE"],
    INTERNAL: [1],
    METRIC: [1],
    RAY: [1, "VERL_RAY_CONFIG"],
    RNG: [1],
    ROLLOUT: [1],
    TENSOR: [1, "VERL_TENSOR_BACKEND_UNAVAILABLE"],
    TESTING: [1],
    VALIDATION: [1],
    WORKER: [1],
    // Both.
    AGENT: [
      2,
      "VERL_AGENT_LOOP_FAILED",
      "VERL_AGENT_REWARD",
      "VERL_AGENT_TEMPLATE_DRIFT",
      "VERL_AGENT_TOOL_PARSER",
      "VERL_AGENT_TRAJECTORY",
    ],
    ALGORITHM: [1, "VERL_ALGORITHM_CONFIG"],
    REWARD: [2, "VERL_REWARD_RESULT", "VERL_REWARD_UNSCORED"],
    TRAIN: [2, "VERL_TRAIN_GROUPS_EXHAUSTED"],
  };

  it("of each area is settled", () => {
    expect([...new Set(codes.map(areaOf))].sort()).toEqual(Object.keys(AREAS).sort());
  });

  it.each(codes as ErrorCode[])("of %s is 2 where what was given is wrong, 1 where the work failed", (code) => {
    const [usual, ...others] = AREAS[areaOf(code)]!;
    expect(exitCode(code)).toBe(others.includes(code) ? 3 - usual : usual);
  });
});

describe("the table of codes", () => {
  it("is sorted, and each code is VERL_AREA_WHAT", () => {
    expect(codes).toEqual([...codes].sort());
    for (const code of codes) expect(code).toMatch(/^VERL_[A-Z]+(_[A-Z]+)*$/);
  });

  it("says in one sentence when each is raised, no sentence twice", () => {
    const sentences = Object.values(ERROR_CODES).map(({ when }) => when);
    for (const sentence of sentences) expect(sentence).toMatch(/^[A-Z`"].*\.$/);
    expect(new Set(sentences).size).toBe(sentences.length);
  });

  it("holds no code that nothing raises", () => {
    const raised = new Set([...codesIn("core"), ...codesIn("plugins")]);
    expect(codes.filter((code) => !raised.has(code))).toEqual([]);
  });

  it("is what core/errors/README.md documents; `node scripts/docs/errors.mjs` writes it", () => {
    const pageOf = errorsPage as (table: typeof ERROR_CODES, exitCode: (code: ErrorCode) => number) => string;
    const page = pageOf(ERROR_CODES, exitCode);
    expect(readFileSync(join(root, "core/errors/README.md"), "utf8")).toBe(page);
  });
});
