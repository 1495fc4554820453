import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "@jest/globals";
import { cli } from "./helpers.ts";

const cwd = mkdtempSync(join(tmpdir(), "verl-doctor-"));
afterAll(() => rmSync(cwd, { recursive: true }));

const NAME = "verl-plugin-idle";
mkdirSync(join(cwd, "node_modules", NAME), { recursive: true });
writeFileSync(join(cwd, "package.json"), JSON.stringify({ name: "project", dependencies: { [NAME]: "1" } }));
writeFileSync(
  join(cwd, "node_modules", NAME, "package.json"),
  JSON.stringify({ name: NAME, version: "1.0.0", verl: { provides: { policy_loss: ["idle"] } } }),
);
writeFileSync(join(cwd, "bad.yaml"), "algorithm: {adv_estimator: grop}\n");

it("verl list --available names what is installed and not enabled, and the line that enables it", async () => {
  const { code, stdout } = await cli(["list", "--available"], { cwd });
  expect(code).toBe(0);
  expect(stdout).toContain(`${NAME}@1.0.0  policy_loss/idle  plugins: [${NAME}]`);
});

it("verl doctor tells of backends, plugins and each problem of a config, and fails for those", async () => {
  const { code, stdout, stderr } = await cli(["doctor", "bad.yaml"], { cwd });
  expect(code).toBe(1);
  expect(stderr).toBe("VERL_DOCTOR_FAILED\nA check failed.\nThe report above says what to do about each.\n");
  expect(stdout).toMatch(/^✔ +backend cpu +usable$/m);
  expect(stdout).toContain(`${NAME}@1.0.0 is installed, not enabled`);
  expect(stdout).toContain('No advantage estimator is registered as "grop".');
  expect(stdout).toContain('Did you mean "grpo"?');
});
