import { expect, it } from "@jest/globals";
import { waitForRoom, type RoomOptions } from "../../core/controller/ray/wait-for-room.ts";
import { ResourcePool } from "../../core/controller/resource-pool.ts";
import { createLogger } from "../../core/registry/index.ts";

/* What a start waits for, and what it is told of. */

const OWN = "placement group verl_1_one_0_0";
const OTHER = "placement group verl_2_two_0_0";

/** What a start of 4 ranks on one machine says, and how it ends, while these hold the machine's CPUs. */
async function wait(
  holders: readonly (readonly [string, number])[],
  deadlineS: number,
  more: Partial<RoomOptions> = {},
): Promise<{ lines: string; error: string }> {
  const lines: string[] = [];
  const free = 4 - holders.reduce((sum, [, CPU]) => sum + CPU, 0);
  const node = { node: "a", total: { CPU: 4 }, holders: holders.map(([who, CPU]) => ({ who, holds: { CPU } })) };
  const error = await waitForRoom({
    name: "workers",
    pool: new ResourcePool([4], { name: "one" }),
    nodes: () => Promise.resolve([{ ...node, free: { CPU: free } }]),
    own: new Set([OWN]),
    placed: () => false,
    deadlineS,
    log: createLogger({ write: (line: string) => void lines.push(line) }),
    over: new AbortController().signal,
    ...more,
  }).then(
    () => "",
    ({ message }: Error) => message,
  );
  return { lines: lines.join("\n"), error };
}

it("says nothing of room that the start holds itself", async () => {
  expect(
    await wait(
      [0, 1, 2, 3].map(() => [OWN, 1]),
      300,
      { over: AbortSignal.timeout(2500) },
    ),
  ).toEqual({ lines: "", error: "" });
});

it("names the others that hold what is waited for, and not the start itself", async () => {
  const { lines, error } = await wait(
    [
      [OWN, 1],
      [OTHER, 2],
    ],
    2,
  );
  const available = `Available on a: 2 CPU of 4 CPU; ${OTHER} holds 2 CPU.`;
  for (const text of [lines, error]) expect(text).toContain(available);
  expect(lines + error).not.toContain(OWN);
  expect(error).toMatch(/^There is no room for the worker groups after 2 s\./);
});

it("does not say at the deadline that there is no room where there is", async () => {
  const { lines, error } = await wait([[OWN, 4]], 1);
  expect([lines, error]).toEqual(["", "The ranks of workers have room, but did not start in it within 1 s."]);
});
