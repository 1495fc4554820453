// `node test/bench/gpu/run.mjs [--small] [--out table.md]` after `npm run build:code`: kernels on the GPU beside PyTorch on the same GPU,
// everything in one run, as one Markdown table. PyTorch and Triton come from `python3` on the PATH.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { LOSSES, measureKernels } from "./kernels.mjs";

const { values: flags } = parseArgs({
  options: {
    small: { type: "boolean", default: false },
    out: { type: "string" },
    "no-torch": { type: "boolean", default: false },
  },
});
const full = {
  rows: 2048,
  vocabulary: 151_936,
  loss_rows: 4096,
  loss_width: 8192,
  tokens: 8192,
  hidden: 2048,
  timing: { repeats: 20, busyCopies: 64 },
  linearRepeats: 3,
  engineRepeats: 9,
};
/** Shows that the script runs, where there is only a software GPU; its times say nothing. */
const small = {
  rows: 16,
  vocabulary: 4096,
  loss_rows: 8,
  loss_width: 256,
  tokens: 128,
  hidden: 64,
  timing: { repeats: 3 },
  linearRepeats: 1,
  engineRepeats: 0,
};
const here = import.meta.dirname;
const sizes = { ...(flags.small ? small : full), engine: join(here, "../engine.py") };

const torch = flags["no-torch"] ? {} : pytorch();
if (flags.out) writeFileSync(`${flags.out}.torch.json`, JSON.stringify(torch));
const ours = await measureKernels(sizes);

const copyBytes = ours.copy_bytes;
const rate = (bytes, ms) => bytes / ms / 1e6;
const copies = { WGSL: rate(copyBytes, ours.copy), ...(torch.copy && { PyTorch: rate(copyBytes, torch.copy) }) };
const ceiling = Math.max(...Object.values(copies));
const time = (ms) =>
  ms === undefined || ms === null || Number.isNaN(ms) ? "–" : `${ms < 10 ? ms.toFixed(3) : ms.toFixed(1)} ms`;
const size = (bytes) => (bytes === undefined ? "–" : `${(bytes / 1e9).toFixed(3)} GB`);

const rows = [];
const bound = (what, key, torchKey = key) =>
  rows.push([
    what,
    size(ours[`${key}_bytes`]),
    time(ours[key]),
    `${rate(ours[`${key}_bytes`], ours[key]).toFixed(0)} GB/s`,
    `${((100 * rate(ours[`${key}_bytes`], ours[key])) / ceiling).toFixed(0)}%`,
    time(torch[`${torchKey}_eager`]),
    time(torch[`${torchKey}_compile`]),
    time(torch[`${torchKey}_triton`]),
  ]);
bound(`log_prob_entropy forward, ${sizes.rows} × ${sizes.vocabulary} float32`, "lpe_forward");
bound("the same, backward", "lpe_backward");
bound("forward, float16 logits", "lpe_half_forward", "none");
bound("backward, float16 logits", "lpe_half_backward", "none");
for (const key of LOSSES) bound(`${key}, forward + backward, ${sizes.loss_rows} × ${sizes.loss_width}`, key);

const table = (head, body) =>
  [head, head.map(() => "---"), ...body].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
const linear = (what, key) => [
  what,
  time(ours[key]),
  size(ours[`${key}_bytes`]),
  time(torch[key]),
  size(torch[`${key}_bytes`]),
  time(torch[`${key}_tf32`]),
];
const products = 2 * sizes.tokens * sizes.hidden * sizes.vocabulary;
const text = `${new Date().toISOString().slice(0, 10)}, ${torch.device ?? "no PyTorch"}, PyTorch ${torch.torch ?? "–"}, Triton ${torch.triton ?? "–"}. Medians of device timestamps.

Ceiling, bytes read and written by a copy of ${size(copyBytes / 2)}: ${Object.entries(copies)
  .map(([name, value]) => `${name} ${value.toFixed(0)} GB/s`)
  .join(
    ", ",
  )}; percentages are of the larger. Largest relative error of log_prob_entropy against float64: ${ours.lpe_error?.toExponential(1)}.

${table(["memory-bound", "bytes", "verl (WGSL)", "rate", "of copy", "PyTorch eager", "torch.compile", "Triton"], rows)}

linear_log_prob_entropy, ${sizes.tokens} tokens × ${sizes.hidden} × ${sizes.vocabulary}, float32; one product is ${(products / 1e12).toFixed(2)} TFLOP, the logits are ${size(4 * sizes.tokens * sizes.vocabulary)}. Memory is what the operation allocates besides its inputs; forward + backward includes the gradients' own ${size(ours.linear_gradient_bytes)}.

${table(
  ["compute-bound", "verl (WGSL)", "memory", "PyTorch matmul + cross_entropy", "memory", "PyTorch, TF32"],
  [linear("forward", "linear_forward"), linear("forward + backward", "linear_both")],
)}

${table(
  ["quickstart, host time", "verl (webgpu)", "PyTorch CUDA eager"],
  [
    ["sampling 1,024 answers of 6 tokens", time(ours.quickstart_sample), time(torch.quickstart_sample)],
    ["update: 1,024 rows, two optimizer steps", time(ours.quickstart_update), time(torch.quickstart_update)],
  ],
)}
`;
console.log(text);
if (flags.out) {
  writeFileSync(flags.out, text);
  writeFileSync(`${flags.out}.json`, JSON.stringify({ sizes, ours, torch }, null, 2));
}

/** Milliseconds by torch_side.py; none where it fails, and the reason is on standard error. */
function pytorch() {
  const args = [join(here, "torch_side.py"), JSON.stringify(sizes)];
  try {
    const output = execFileSync("python3", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
    return JSON.parse(output.trim().split("\n").at(-1));
  } catch (error) {
    console.error(error.message);
    return {};
  }
}
