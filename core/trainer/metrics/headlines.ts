/** The few numbers that one follows a run by, each with the metrics that may carry it, the best first. A `*` stands for any text. */
const HEADLINES: Readonly<Record<string, readonly string[]>> = {
  val: ["val-core/*/mean@*", "val-core/*", "val/loss"],
  reward: ["critic/score/mean", "critic/rewards/mean"],
  loss: ["train/loss"],
  kl: ["actor/kl_loss", "actor/reward_kl_penalty", "actor/ppo_kl"],
  "tok/s": ["perf/throughput"],
};

/** Label → value of the headline numbers that the metrics hold. */
export function headlines(metrics: Readonly<Record<string, number>>): Map<string, number> {
  return new Map([...headlineNames(Object.keys(metrics))].map(([label, name]) => [label, metrics[name]!]));
}

/** Label → name of the metric that carries it. */
export function headlineNames(names: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  for (const [label, patterns] of Object.entries(HEADLINES)) {
    const name = headlineName(names, patterns);
    if (name !== undefined) found.set(label, name);
  }
  return found;
}

function headlineName(names: readonly string[], patterns: readonly string[]): string | undefined {
  for (const pattern of patterns) {
    const parts = pattern.split("*");
    const name = names.find((candidate) => matches(candidate, parts));
    if (name !== undefined) return name;
  }
  return undefined;
}

/** True when the name is the parts in order with any text between them. */
function matches(name: string, parts: readonly string[]): boolean {
  if (parts.length === 1) return name === parts[0];
  let at = 0;
  for (const part of parts) {
    const found = name.indexOf(part, at);
    if (found < 0 || (at === 0 && found !== 0)) return false;
    at = found + part.length;
  }
  return name.endsWith(parts.at(-1)!);
}
