import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Link } from "../channel/dial.ts";
import type { LaunchedDriver } from "./ray-driver.ts";

/** Path of driver.py: beside this source, or in the build above its chunks. */
export function driverPath(): string {
  const paths = ["./driver.py", "../driver.py"].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  return paths.find((path) => existsSync(path)) ?? paths[0]!;
}

/** Last characters of what the driver writes, for messages. */
const TAIL = 4000;

/** Launches the driver as a child of this process, on a machine of the cluster. It ends when this process does. */
export function launchDirect(python: string, address: string, link: Link): LaunchedDriver {
  const child = spawn(python, [driverPath()], {
    env: { ...process.env, RAY_ADDRESS: address, PYTHONUNBUFFERED: "1" },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let tail = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => (tail = (tail + text).slice(-TAIL)));
  }
  child.stdin.on("error", () => undefined);
  child.stdin.write(`${JSON.stringify(link)}\n`);
  const ended = new Promise<string>((resolve) => {
    child.once("error", ({ message }) => resolve(`could not be started: ${message}`));
    child.once("close", (code, signal) => {
      const words = tail.trim();
      resolve(`${signal === null ? `exited with code ${code}` : `was ended by ${signal}`}${words && `:\n${words}`}`);
    });
  });
  return {
    ended,
    async kill() {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
