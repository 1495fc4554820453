import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { KIND_NAMES } from "../../core/registry/index.ts";
import { cli } from "./helpers.ts";

const cwd = mkdtempSync(join(tmpdir(), "verl-cli-"));
beforeAll(() => {
  writeFileSync(
    join(cwd, "mine.ts"),
    `import { registerAdvEst, type AdvantageEstimator } from "verl";
     const compute: AdvantageEstimator["compute"] = ({ token_level_rewards: r }) => ({ advantages: r, returns: r });
     registerAdvEst("mine", {
       description: "Rewards as they are.", paper: "None", aliases: ["my_own"], requires: ["values"],
       optionsSchema: {
         type: "object", additionalProperties: false, required: ["path"],
         properties: {
           alpha: { type: "number", minimum: 0, exclusiveMaximum: 1, description: "Weight.", default: 0.5 },
           side: { enum: ["left", "right"], description: "Side.", default: "left" },
           path: { type: "string", description: "Where it lies." },
         },
       },
       metrics: { "mine/spread": "Largest minus smallest." },
       departures: ["verl has none."],
       compute,
     });`,
  );
  writeFileSync(join(cwd, "run.yaml"), "plugins:\n  - ./mine.ts\nanything: else\n");
  writeFileSync(join(cwd, "broken.yaml"), "plugins:\n  - ./nope.ts\n");
});
afterAll(() => rmSync(cwd, { recursive: true }));

const JSON_LINES = (text: string) => JSON.parse(text) as { kind: string; key: string; source: string }[];

describe("verl list", () => {
  it("lists every kind with its config key", async () => {
    const { code, stdout, stderr } = await cli(["list"], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const kind of KIND_NAMES) expect(stdout).toMatch(new RegExp(`^${kind} \\(`, "m"));
    expect(stdout).toContain("sampler (sampler, data.sampler.name)");
  });

  it("lists one kind with keys, sources and descriptions, in columns", async () => {
    const { stdout } = await cli(["list", "adv_estimator", "--plugin", "./mine.ts"], { cwd });
    expect(stdout).toMatch(/^adv_estimator \(advantage estimator, algorithm\.adv_estimator\)$/m);
    expect(stdout).toMatch(/^ {2}mine, my_own +\.\/mine\.ts +Rewards as they are\.$/m);
    expect(stdout).not.toContain("policy_loss (");
  });

  it("prints JSON that names key, kind and source of each entry", async () => {
    const { stdout } = await cli(["list", "adv_estimator", "--json", "-c", "run.yaml"], { cwd });
    expect(JSON_LINES(stdout)).toContainEqual({
      kind: "adv_estimator",
      key: "mine",
      aliases: ["my_own"],
      description: "Rewards as they are.",
      paper: "None",
      source: "./mine.ts",
    });
    expect(JSON_LINES((await cli(["list", "--json"], { cwd })).stdout).map(({ kind }) => kind)).toContain("sampler");
  });

  it("says what a kind is called when it is mistyped", async () => {
    const { code, stdout, stderr } = await cli(["list", "policy-los"], { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(
      'VERL_KIND_UNKNOWN\nThere is no kind of plugin called "policy-los".\nDid you mean "policy_loss"?',
    );
  });

  it("points at the line of the config whose plugin does not exist", async () => {
    const { code, stderr } = await cli(["list", "-c", "broken.yaml"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("VERL_PLUGIN_NOT_FOUND  broken.yaml:2:5  plugins.0\n");
  });

  it("points at the option whose plugin does not exist", async () => {
    const { code, stderr } = await cli(["list", "--plugin", "nope"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("VERL_PLUGIN_NOT_FOUND  --plugin nope");
  });

  it("says so when the config does not exist", async () => {
    const { code, stderr } = await cli(["list", "-c", "none.yaml"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("none.yaml");
  });
});

describe("verl info", () => {
  it("tells all about an entry, found by an alias too", async () => {
    const { code, stdout } = await cli(["info", "adv_estimator", "my_own", "--plugin", "./mine.ts"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toBe(
      [
        "mine (advantage estimator)",
        "Rewards as they are.",
        "",
        "  source     ./mine.ts",
        "  paper      None",
        "  aliases    my_own",
        "  requires   values",
        "  chosen by  algorithm.adv_estimator: mine",
        "",
        "options, under algorithm.adv_kwargs:",
        "  alpha  number ≥ 0, < 1   default 0.5     Weight.",
        '  side   "left" | "right"  default "left"  Side.',
        "  path   string            required        Where it lies.",
        "",
        "metrics:",
        "  mine/spread  Largest minus smallest.",
        "",
        "otherwise than verl:",
        "  verl has none.",
        "",
      ].join("\n"),
    );
  });

  it("prints the same as JSON", async () => {
    const { stdout } = await cli(["info", "adv_estimator", "mine", "--json", "--plugin", "./mine.ts"], { cwd });
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "adv_estimator",
      key: "mine",
      requires: ["values"],
      optionsSchema: { required: ["path"] },
      metrics: { "mine/spread": "Largest minus smallest." },
      departures: ["verl has none."],
    });
  });

  it("climbs the ladder for an unknown key", async () => {
    const { code, stderr } = await cli(["info", "adv_estimator", "mnie", "--plugin", "./mine.ts"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain('No advantage estimator is registered as "mnie".\nDid you mean "mine"?');
  });
});
