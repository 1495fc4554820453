/** The part of `@cortex-js/compute-engine` that is used. */
interface ComputeEngine {
  timeLimit: number;
  parse(latex: string): { readonly isValid: boolean; isEqual(other: unknown): boolean | undefined };
}

/** Whether two LaTeX answers are the same mathematics; undefined: not known. */
export type SymbolicEquality = (prediction: string, gold: string) => boolean | undefined;

const PACKAGE = "@cortex-js/compute-engine";
const LONGEST = 200;
const LIMIT_MS = 1000;
/** Powers of powers and powers of many digits make numbers that no time suffices for. */
const EXPLOSIVE = /\^\s*\{?\s*[^\s}]*\^|\^\s*\{?\s*-?\d{3}|\d{20}|!\s*!|\d{4}\s*!/;

/** The optional peer, if it is installed; asked once. */
export function loadSymbolicEquality(
  load: (name: string) => Promise<unknown> = (name) => import(name),
): Promise<SymbolicEquality | undefined> {
  return load(PACKAGE).then(
    (module) => {
      const engine = new (module as { ComputeEngine: new () => ComputeEngine }).ComputeEngine();
      engine.timeLimit = LIMIT_MS;
      return symbolicEquality(engine);
    },
    () => undefined,
  );
}

function symbolicEquality(engine: ComputeEngine): SymbolicEquality {
  return (prediction, gold) => {
    if ([prediction, gold].some((text) => text.length > LONGEST || EXPLOSIVE.test(text))) return undefined;
    try {
      const [a, b] = [engine.parse(prediction), engine.parse(gold)];
      return a.isValid && b.isValid ? a.isEqual(b) : undefined;
    } catch {
      // Its own limit of time, or LaTeX that it does not know: no verdict.
      return undefined;
    }
  };
}

let shared: Promise<SymbolicEquality | undefined> | undefined;

/** As `loadSymbolicEquality`, one for the process. */
export const symbolicEqualityOnce = (): Promise<SymbolicEquality | undefined> => (shared ??= loadSymbolicEquality());
