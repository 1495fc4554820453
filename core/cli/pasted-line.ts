import { VerlError } from "../errors/verl-error.ts";

/** A command line without what only a Python launcher reads. */
export interface PastedLine {
  readonly args: readonly string[];
  /** What was left out, in words; values of environment variables, which may be secrets, are not in it. */
  readonly dropped: readonly string[];
}

export type Trainer = "train" | "sft";

/** Words that begin a launcher's part of the line. */
const LAUNCHER =
  /^(?:(?:.*\/)?(?:python[\d.]*|torchrun|accelerate|deepspeed|ray|srun|nsys|nohup|time|exec|env|sudo|uv)|set)$/;
/** Of a variable of the environment; a config key has lower-case letters. */
const ASSIGNMENT = /^([A-Z_][A-Z0-9_]*)=/;
const SHELL_SCRIPT = /^(?:.*\/)?(?:bash|sh|zsh|[^\s=]+\.sh)$/;
/** A module, a file or the bare name of a trainer: `verl.trainer.main_ppo`, `recipe/dapo/main_dapo.py`, `main_ppo`. */
const ENTRY_POINT = /^(?:[\w./-]*[./])?(?:main_\w+|\w*sft_trainer\w*)(?:\.py)?$/;
/** A word of backslashes and blanks: a line's continuation that the shell did not take away. */
const CONTINUATION = /^[\\\s]*$/;
/** A shell's own arguments that nothing replaced. */
const ALL_ARGUMENTS = /^(?:["']?\$[@*]["']?|["']?\$\{[@*]\}["']?)$/;

/** Hydra's own options and what stands for them; a text says what to do instead. */
const HYDRA_SHORT: Readonly<Record<string, string>> = { "-cn": "--config-name", "-cp": "--config-path" };
const HYDRA_OTHER: Readonly<Record<string, string>> = {
  "--multirun": "There are no sweeps; start one run a value.",
  "-m": "There are no sweeps; start one run a value.",
  "--cfg": "`verl config print` prints the config.",
  "--info": "`verl config explain` tells what follows from the config.",
  "--config-dir": "Name one folder by --config-path; files there can name others by `extends`.",
  "-cd": "Name one folder by --config-path; files there can name others by `extends`.",
};

/**
 * Reads the words after `verl train`, `verl sft` or `verl config …` as they come when a line that starts Python is pasted there:
 * `HYDRA_FULL_ERROR=1 python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \ … "$@"`. Everything up to the trainer's name
 * goes, and what the shell left over. Any other line comes back as it is.
 * @param trainer The trainer that the command starts.
 * @throws VERL_CONFIG_OVERRIDE for a line that starts something else.
 */
export function readPastedLine(words: readonly string[], trainer: Trainer): PastedLine {
  const clean = words.map((word) => word.replace(/^(?:\\?\r?\n)+|(?:\\?\r?\n|\r)+$/g, ""));
  const end = clean.findIndex(isEntryPoint);
  if (end >= 0) checkTrainer(clean[end]!, trainer);
  else refuseScripts(clean);
  const start = end < 0 ? 0 : clean.findIndex((word, at) => at === end || beginsLauncher(word, at, end));

  const args: string[] = [];
  const launcher: string[] = [];
  const variables: string[] = [];
  const leftovers = new Set<string>();
  for (const [at, word] of clean.entries()) {
    const launching = at >= start && at <= end;
    const leading = args.every((arg) => !arg.includes("="));
    const variable = launching || leading ? ASSIGNMENT.exec(word)?.[1] : undefined;
    if (variable !== undefined) variables.push(variable);
    else if (CONTINUATION.test(word) && !isOptionValue(clean, at)) leftovers.add("backslashes at ends of lines");
    else if (launching) launcher.push(word);
    else if (ALL_ARGUMENTS.test(word)) leftovers.add('"$@", which stands for no argument here');
    else args.push(...hydraOption(word));
  }
  const dropped = [
    ...(launcher.length > 0 ? [`\`${launcher.map(withoutValue).join(" ")}\``] : []),
    ...(variables.length > 0 ? [`the variable${variables.length > 1 ? "s" : ""} ${variables.join(", ")}`] : []),
    ...leftovers,
  ];
  return { args, dropped };
}

/** The sentence that tells what was left out; undefined when nothing was. */
export const droppedNote = ({ dropped }: PastedLine): string | undefined =>
  dropped.length === 0 ? undefined : `Left out of the pasted line: ${dropped.join("; ")}.`;

function isEntryPoint(word: string, at: number, words: readonly string[]): boolean {
  if (ENTRY_POINT.test(word)) return !isOptionValue(words, at);
  const python = words.slice(0, at).some((earlier) => LAUNCHER.test(earlier));
  return python && (words[at - 1] === "-m" || word.endsWith(".py")) && /^[\w./-]+$/.test(word);
}

const beginsLauncher = (word: string, at: number, end: number): boolean =>
  LAUNCHER.test(word) || ASSIGNMENT.test(word) || (word === "-m" && at === end - 1);

function checkTrainer(entryPoint: string, trainer: Trainer): void {
  const wanted: Trainer = /sft/.test(entryPoint) ? "sft" : "train";
  const other = /generation|eval|server/.test(entryPoint);
  if (wanted === trainer && !other) return;
  throw new VerlError(
    "VERL_CONFIG_OVERRIDE",
    other
      ? `The pasted line starts \`${entryPoint}\`, which has no counterpart here.`
      : `The pasted line starts \`${entryPoint}\`, which is what \`verl ${wanted}\` does.`,
    {
      hint: other
        ? "Answers to validation files: `verl train … trainer.val_only=true`."
        : `Paste it after \`verl ${wanted}\`, or after \`verl config explain${wanted === "sft" ? " --sft" : ""}\`.`,
      location: { override: entryPoint },
    },
  );
}

function refuseScripts(words: readonly string[]): void {
  const script = words.find((word) => SHELL_SCRIPT.test(word) || /^python[\d.]*$/.test(word));
  if (script === undefined) return;
  throw new VerlError("VERL_CONFIG_OVERRIDE", `\`${script}\` starts a program, which is no config key.`, {
    hint: "Paste the line inside of it that starts the trainer: python3 -m verl.trainer.main_ppo key=value …",
    location: { override: script },
  });
}

/** Settings of a launcher may hold secrets too. */
const withoutValue = (word: string): string => (word.includes("{") ? "{…}" : word.replace(/^(-[^=]*=).*$/s, "$1…"));

/** The value of `-c` and its like is whatever follows. */
const isOptionValue = (words: readonly string[], at: number): boolean =>
  /^(?:-c|-cn|-cp|--config|--config-name|--config-path)$/.test(words[at - 1] ?? "");

function hydraOption(word: string): string[] {
  const [, name = word, value] = /^(-{1,2}[a-z-]+)=(.*)$/s.exec(word) ?? [];
  const instead = HYDRA_OTHER[name];
  if (instead !== undefined) {
    throw new VerlError("VERL_CONFIG_OVERRIDE", `Hydra's option \`${name}\` is not one here.`, {
      hint: instead,
      location: { override: word },
    });
  }
  const long = HYDRA_SHORT[name];
  return long === undefined ? [word] : [long, ...(value === undefined ? [] : [value])];
}
