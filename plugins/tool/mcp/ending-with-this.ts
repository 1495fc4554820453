import type { ChildProcess } from "node:child_process";
import type { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

/** Servers that run. Where this process ends before it has closed them, nobody else would end those that stay when their input ends. */
const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** The package's transport, whose server ends with this process, and whose `close` can be awaited again: the package calls it itself first. */
export function endingWithThis(Base: typeof StdioClientTransport): typeof StdioClientTransport {
  return class extends Base {
    private closing: Promise<void> | undefined;

    override async start(): Promise<void> {
      const starting = super.start();
      const child = (this as unknown as { _process?: ChildProcess })._process;
      if (child !== undefined) {
        if (running.size === 0) process.on("exit", killAll);
        running.add(child);
        child.once("close", () => {
          running.delete(child);
          if (running.size === 0) process.off("exit", killAll);
        });
      }
      await starting;
    }

    override close(): Promise<void> {
      return (this.closing ??= super.close());
    }
  };
}
