/*
 * `npm run soak:kills [-- kills] [seed]`: kills processes of runs on a cluster of Ray, 200 of them at random moments. None may hang for 30 s,
 * leave a process, or lose a checkpoint.
 */
import { killAtRandom } from "./support/kills.ts";

const [kills = 200, seed = 1] = process.argv.slice(2).map(Number);
if (![kills, seed].every(Number.isSafeInteger) || kills < 1) {
  console.error("Usage: npm run soak:kills [-- kills [seed]], for example 20 1 (default: 200 1)");
  process.exit(2);
}
const { steps, seconds } = await killAtRandom(kills, seed, (line) => console.log(line));
const median = seconds[seconds.length >> 1];
console.log(
  `${kills} kills: none hung, no process is left, and training went on from its checkpoints to step ${steps}.`,
);
console.log(`All was told and gone after ${median} s (median), ${seconds.at(-1)} s (most).`);
process.exit();
