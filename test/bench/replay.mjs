import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { activateBackend, createRng, DataProto, loadPlugins, loadTokenizer, NdArray } from "verl";
import { inPython } from "./support/python.mjs";
import { clippedLoss, drawId, MODEL, modelContainer, OPTIM } from "./support/quickstart-model.mjs";

const [STEPS, ROWS, MICRO, PROMPT, RESPONSE] = [3, 256, 128, 8, 6];
const LENGTH = PROMPT + RESPONSE;
const loss = clippedLoss(ROWS * RESPONSE);

/**
 * Three optimizer steps of two micro-batches from one set of weights, here and in PyTorch: how far losses, gradient norms and weights
 * lie apart. Weights are told by the distance of all of them over the distance that they moved. Beside: PyTorch's own from its float64.
 */
export default async function bench(report) {
  if (!process.env.VERL_BENCH_PYTHON) return;
  await loadPlugins([]);
  await activateBackend("ort");
  const folder = mkdtempSync(join(tmpdir(), "verl-replay-"));
  try {
    await run(folder);
    const { float32, ours, torch } = inPython("replay.py", [folder]);
    for (const what of ["loss", "grad_norm", "weights"]) {
      report.row({
        name: `${what} in ${STEPS} steps, from PyTorch float32`,
        value: float32[what],
        unit: "relative",
      });
      report.row({
        name: `${what} in ${STEPS} steps, from PyTorch float64`,
        value: ours[what],
        unit: "relative",
        ratio: torch[what] / ours[what],
        versus: `PyTorch float32: ${torch[what].toPrecision(3)}`,
      });
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(folder) {
  const rng = createRng(1);
  // Its files go into the folders that are written.
  const tokenizer = await loadTokenizer(fileURLToPath(new URL("../../examples/sort-letters/model", import.meta.url)));
  const trainer = modelContainer(folder, { rng, tokenizer, rows: ROWS }).create("engine", "embedded");
  await trainer.savePretrained(join(folder, "before"));

  const steps = [];
  const losses = [];
  const norms = [];
  for (let step = 0; step < STEPS; step++) {
    const rows = drawRows(rng);
    steps.push(Object.fromEntries(Object.entries(rows).map(([name, array]) => [name, Array.from(array)])));
    const batch = batchOf(rows);
    let total = 0;
    for (let start = 0; start < ROWS; start += MICRO)
      total += (await trainer.forwardBackward(batch.slice(start, start + MICRO), loss, { temperature: 1 })).loss;
    losses.push(total);
    norms.push((await trainer.optimStep()).gradNorm);
  }
  await trainer.savePretrained(join(folder, "after"));
  trainer.dispose();
  const plan = { model: MODEL, optim: OPTIM, rows: ROWS, micro: MICRO, prompt: PROMPT, steps, losses, norms };
  writeFileSync(join(folder, "plan.json"), JSON.stringify(plan));
}

/** Old log-probs lie about those of an untrained model, so that some ratios are clipped. */
function drawRows(rng) {
  const uniform = -Math.log(MODEL.vocab_size);
  return {
    input_ids: Int32Array.from({ length: ROWS * LENGTH }, () => drawId(rng)),
    old_log_probs: Float32Array.from({ length: ROWS * RESPONSE }, () => uniform + 0.2 * rng.normal()),
    advantages: Float32Array.from({ length: ROWS * RESPONSE }, () => rng.normal()),
  };
}

function batchOf({ input_ids, old_log_probs, advantages }) {
  const ids = new NdArray("int32", [ROWS, LENGTH], input_ids);
  const responses = Int32Array.from(
    { length: ROWS * RESPONSE },
    (_, i) => input_ids[Math.floor(i / RESPONSE) * LENGTH + PROMPT + (i % RESPONSE)],
  );
  return new DataProto({
    batch: {
      input_ids: ids,
      attention_mask: new NdArray("int32", [ROWS, LENGTH], new Int32Array(ROWS * LENGTH).fill(1)),
      position_ids: new NdArray(
        "int32",
        [ROWS, LENGTH],
        Int32Array.from(input_ids, (_, i) => i % LENGTH),
      ),
      responses: new NdArray("int32", [ROWS, RESPONSE], responses),
      old_log_probs: new NdArray("float32", [ROWS, RESPONSE], old_log_probs),
      advantages: new NdArray("float32", [ROWS, RESPONSE], advantages),
    },
  });
}
