/** What the scaffolder may use of the process it runs in; tests hand in their own. */
export interface Terminal {
  /** What was asked for: to stdout. */
  print(text: string): void;
  /** Everything else: to stderr. */
  note(text: string): void;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** True where a person can be asked. */
  readonly interactive: boolean;
}

/** The real process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  return {
    print: (text) => void stdout.write(`${text}\n`),
    note: (text) => void stderr.write(`${text}\n`),
    cwd: process.cwd(),
    env,
    interactive: stdin.isTTY === true && stdout.isTTY === true && !env["CI"],
  };
}
