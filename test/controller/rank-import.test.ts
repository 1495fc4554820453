import { afterEach, beforeAll, describe, expect, it, jest } from "@jest/globals";
import { ThreadTransport } from "../../core/controller/thread/thread-transport.ts";
import { WorkerGroup } from "../../core/controller/worker-group.ts";
import { failure } from "./failure.ts";
import { loadPlugin } from "./load-dispatch-modes.ts";
import { SelfStarting } from "./workers/self-starting.ts";

// The threads' sources are compiled when they start.
jest.setTimeout(300_000);

beforeAll(loadPlugin);

describe("a worker's module that starts a group when a rank imports it", () => {
  const words = "SelfStarting would be started again by rank 0 of SelfStarting, which only imports its module.";

  afterEach(() => {
    delete process.env.TEST_SELF_START;
  });

  const start = async (how: string): Promise<unknown> => {
    process.env.TEST_SELF_START = how;
    const transport = new ThreadTransport();
    try {
      const group = await WorkerGroup.create(SelfStarting, [], { transport });
      return await group.wait();
    } finally {
      await transport.close();
    }
  };

  it.each(["at once", "later"])("is refused: %s", async (how) => {
    const error = await failure(start(how));
    expect(error).toMatchObject({ code: "VERL_WORKER_MODULE", message: words });
    expect(error.hint).toContain("in a file of its own");
  });

  it("is refused after its import too, which ends the rank with the reason", async () => {
    // The end of the sentence is of the call that was under way.
    expect((await failure(start("beside"))).message).toContain(`${words.slice(0, -1)}; the call was `);
  });

  it("may let its methods start groups", async () => {
    const transport = new ThreadTransport();
    const group = await WorkerGroup.create(SelfStarting, [], { transport, plugins: ["verl/plugins"] });
    expect(await group.nested()).toEqual(["inner"]);
    await group.dispose();
    await transport.close();
  });
});
