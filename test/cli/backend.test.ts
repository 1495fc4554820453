import { describe, expect, it } from "@jest/globals";
import { cli } from "./helpers.ts";

describe("verl backend", () => {
  it("lists every backend, with the reason where one cannot run", async () => {
    const { code, stdout } = await cli(["backend", "list", "--json"]);
    expect(code).toBe(0);
    const states = JSON.parse(stdout) as { key: string; usable: boolean; reason?: string }[];
    expect(states.map(({ key }) => key)).toEqual(["cpu", "ort", "tensorflow", "wasm", "webgpu"]);
    expect(states.filter(({ usable, reason }) => usable === (reason !== undefined))).toEqual([]);
    expect(states.find(({ key }) => key === "cpu")).toMatchObject({ usable: true });
  });

  it("says that a backend has nothing to install", async () => {
    const { code, stderr } = await cli(["backend", "install", "cpu"]);
    expect(code).toBe(2);
    expect(stderr).toContain('The tensor backend "cpu" has nothing to install.');
    expect(stderr).toContain("It can run here.");
  });

  it("names the sources of TensorFlow's library for one that there is not", async () => {
    const { code, stderr } = await cli(["backend", "install", "tensorflow", "--from", "attic"]);
    expect(code).toBe(2);
    expect(stderr).toContain("VERL_BACKEND_REQUEST");
    expect(stderr).toContain("archive, python");
    expect(stderr).not.toMatch(/^ {4}at /m);
  });

  it("wants the project's folder to be there", async () => {
    const { code, stderr } = await cli(["backend", "install", "tensorflow", "--project", "/no/such/place"]);
    expect(code).toBe(2);
    expect(stderr).toContain("There is no folder /no/such/place.");
  });
});
