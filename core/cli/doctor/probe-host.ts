import * as tf from "@tensorflow/tfjs";
import { formatError } from "../../errors/index.ts";
import { loadPlugin, registries } from "../../registry/index.ts";
import { activateBackend } from "../../tensor/index.ts";
import type { ProbeReply, ProbeRequest } from "./probe-backends.ts";

/*
 * Entry of the process that tries tensor backends, whose native parts write to stderr what they like, and may end the process.
 */

async function answer({ plugins, keys, arithmetic }: ProbeRequest): Promise<void> {
  for (const plugin of plugins) await loadPlugin(plugin);
  for (const key of keys) {
    await reply({ begun: key });
    const reason = await registries.tensor_backend
      .resolve(key)
      .unavailable()
      .catch((error: unknown) => formatError(error));
    await reply({ key, reason });
  }
  if (arithmetic !== undefined) await reply({ arithmetic: await tryArithmetic(arithmetic.backend) });
}

/** @returns the backend that a run would take, and what it makes of 1·3 + 2·4. */
async function tryArithmetic(configured: string | null): Promise<ProbeReply["arithmetic"]> {
  try {
    const { key } = await activateBackend(configured);
    const product = tf.tidy(() => tf.matMul([[1, 2]], [[3], [4]]));
    const [value] = await product.data();
    return { key, value: value! };
  } catch (error) {
    return { failed: formatError(error) };
  }
}

const reply = (message: ProbeReply): Promise<void> =>
  new Promise((sent) => process.send!(message, undefined, undefined, () => sent()));

process.once("message", (request) => {
  void answer(request as ProbeRequest)
    .catch((error: unknown) => reply({ broken: formatError(error) }))
    .then(() => process.exit());
});
