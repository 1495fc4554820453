/** About three milliseconds of arithmetic, as a symbolic comparison takes. */
export function heavy({ solution_str }) {
  let sum = 0;
  for (let i = 1; i < 1_500_000; i++) sum += Math.sqrt(i * solution_str.length);
  return sum > 0 ? 1 : 0;
}

export const light = ({ solution_str, ground_truth }) => (solution_str === ground_truth ? 1 : 0);

/** Scores by length, but for a few answers. */
export function faulty({ solution_str }) {
  if (solution_str === "loop") for (;;);
  if (solution_str === "throw") throw new Error("no such answer");
  if (solution_str === "hoard") for (const held = new Map(); ;) held.set(held.size, { held: [held.size] });
  return solution_str.length;
}
