import { expect, it, jest } from "@jest/globals";
import { killAtRandom } from "./support/kills.ts";

// `npm run soak:kills` kills more.
const KILLS = 20;
jest.setTimeout(600_000);

it("no random kill hangs a run, leaves a process or spoils a checkpoint", async () => {
  const lines: string[] = [];
  const done = await killAtRandom(KILLS, 7, (line) => lines.push(line)).catch((error: unknown) => {
    throw new Error(`${String(error)}\nAfter:\n${lines.join("\n")}`);
  });
  expect(done.seconds).toHaveLength(KILLS);
  expect(done.steps).toBeGreaterThanOrEqual(3);
});
