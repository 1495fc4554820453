import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { activateBackend, createRng, DataProto, loadPlugins, NdArray } from "verl";
import { inPython } from "./support/python.mjs";
import { clippedLoss, drawId, modelContainer } from "./support/quickstart-model.mjs";

/** The quickstart's step: 128 prompts of 8 tokens, 8 answers of 6 tokens each, two mini-batches. */
const [PROMPTS, GROUP, PROMPT, RESPONSE, MINI, MICRO, REPEATS] = [128, 8, 8, 6, 2, 256, 15];
const ROWS = PROMPTS * GROUP;
const loss = clippedLoss((ROWS / MINI) * RESPONSE);

/** Median seconds of a policy-gradient step's two halves, sampling and update, on a tensor backend. */
export async function measureEngine(backend, repeats = REPEATS) {
  await loadPlugins([]);
  await activateBackend(backend);
  const folder = mkdtempSync(join(tmpdir(), "verl-bench-"));
  const rng = createRng(1);
  const run = modelContainer(folder, { rng, tokenizer: { eosTokenId: 3 }, rows: ROWS });
  const trainer = run.create("engine", "embedded");
  const sampler = run.create("rollout", "embedded");

  const seconds = { sample: [], update: [] };
  for (let step = 0; step < repeats; step += 1) {
    await sampler.updateWeights(await trainer.exportWeights());
    const prompts = Array.from({ length: PROMPTS }, () => Int32Array.from({ length: PROMPT }, () => drawId(rng)));
    const answers = await timed(seconds.sample, () => sample(sampler, prompts, step));
    const batch = batchOf(prompts, answers, rng);
    await timed(seconds.update, () => update(trainer, batch));
  }
  trainer.dispose();
  sampler.dispose();
  rmSync(folder, { recursive: true });
  return { sample: median(seconds.sample), update: median(seconds.update) };
}

/** The two halves on the CPU, beside the same in PyTorch. */
export default async function bench(report) {
  const seconds = await measureEngine("ort");
  const torch = pytorch();
  const rate = (name, what, tokens) => {
    const ours = seconds[name];
    report.row({
      name: what,
      value: tokens / ours,
      unit: "tokens/s",
      ...(torch && { ratio: torch[name] / ours, versus: `PyTorch: ${Math.round(tokens / torch[name])} tokens/s` }),
    });
  };
  rate("sample", `sampling ${ROWS} answers of ${RESPONSE} tokens, prompts read once a group`, ROWS * RESPONSE);
  rate(
    "update",
    `forward, backward and AdamW over ${ROWS} rows of ${PROMPT + RESPONSE} tokens`,
    ROWS * (PROMPT + RESPONSE),
  );
}

function sample(sampler, prompts, step) {
  const sampling = { temperature: 1, top_k: -1, top_p: 1, max_tokens: RESPONSE, stop_token_ids: [], ignore_eos: true };
  const seed = step * ROWS;
  return Promise.all(
    Array.from({ length: ROWS }, (_, i) =>
      sampler.generate(prompts[Math.floor(i / GROUP)], { ...sampling, seed: seed + i }),
    ),
  );
}

async function update(trainer, batch) {
  for (let start = 0; start < ROWS; start += MICRO) {
    await trainer.forwardBackward(batch.slice(start, start + MICRO), loss, { temperature: 1 });
    if ((start + MICRO) % (ROWS / MINI) === 0) await trainer.optimStep();
  }
}

function batchOf(prompts, answers, rng) {
  const length = PROMPT + RESPONSE;
  const ints = (width, value) =>
    new NdArray(
      "int32",
      [ROWS, width],
      Int32Array.from({ length: ROWS * width }, (_, i) => value(Math.floor(i / width), i % width)),
    );
  const floats = (value) =>
    new NdArray(
      "float32",
      [ROWS, RESPONSE],
      Float32Array.from({ length: ROWS * RESPONSE }, (_, i) => value(Math.floor(i / RESPONSE), i % RESPONSE)),
    );
  return new DataProto({
    batch: {
      input_ids: ints(length, (row, t) =>
        t < PROMPT ? prompts[Math.floor(row / GROUP)][t] : answers[row].ids[t - PROMPT],
      ),
      attention_mask: ints(length, () => 1),
      position_ids: ints(length, (_, t) => t),
      responses: ints(RESPONSE, (row, t) => answers[row].ids[t]),
      old_log_probs: floats((row, t) => answers[row].logprobs[t]),
      advantages: floats(() => rng.normal()),
    },
  });
}

/** Seconds of the same by PyTorch on as many threads, or undefined where there is none. */
const pytorch = () => inPython("engine.py", [REPEATS, availableParallelism()]);

async function timed(into, work) {
  const start = performance.now();
  const result = await work();
  into.push((performance.now() - start) / 1000);
  return result;
}

/** Without the first third, in which graphs are compiled. */
function median(values) {
  const warm = values.slice(Math.floor(values.length / 3)).sort((a, b) => a - b);
  return warm[Math.floor(warm.length / 2)];
}
