import { setImmediate } from "node:timers/promises";
import { isVerlError } from "../../errors/index.ts";
import { reasonOf } from "../../errors/reason-of.ts";
import { loadPlugin } from "../../registry/load-plugin.ts";
import { callScore, isLate } from "../score-call.ts";
import { loadScoreFunctions, type ScoreFunctions } from "../score-functions.ts";
import type { FromHost, HostChannel, HostError, HostSetup, ToHost } from "./messages.ts";

/** What a host does: loads the plugins and the functions by itself, then calls them as it is asked, one after another. */
export function serve(channel: HostChannel): void {
  let functions: ScoreFunctions[] = [];
  const answer = async (message: ToHost): Promise<FromHost> => {
    if ("setup" in message) {
      functions = await load(message.setup);
      return { ready: true };
    }
    const { call, seconds } = message;
    return { scored: await callScore(functions[call.of]!, call, seconds) };
  };
  let last: Promise<void> = Promise.resolve();
  let open = 0;
  let late = false;
  channel.onMessage((message) => {
    open += 1;
    last = last.then(async () => {
      if (late) return;
      // Timers count from the event loop's last turn: without one between two calls, a row of them would shorten the deadline of the last.
      await setImmediate();
      const reply = await answer(message).catch((error: unknown): FromHost => ({ failed: plain(error) }));
      late = "scored" in reply && isLate(reply.scored);
      channel.post(reply, --open === 0 || late);
    });
  });
}

async function load({ plugins, sources }: HostSetup): Promise<ScoreFunctions[]> {
  for (const plugin of plugins) await loadPlugin(plugin);
  const loaded: ScoreFunctions[] = [];
  for (const { config, directory } of sources) loaded.push(await loadScoreFunctions(config, directory));
  return loaded;
}

function plain(error: unknown): HostError {
  if (isVerlError(error)) return { code: error.code, message: error.message, hint: error.hint };
  return { message: reasonOf(error) };
}
