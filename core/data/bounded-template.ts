import * as jinja from "@huggingface/jinja";

/** Far more than the template of a long conversation takes; one without end gives up within seconds. */
const MAX_COST = 2_000_000;
/** Steps that a pass of a loop costs on top of those in it. */
const COST_OF_PASS = 4;
/** Characters and items that cost as much as one step. */
const SIZE_OF_STEP = 500;
const MAX_CHARACTERS = 10_000_000;
/** Of one list. The package spends some kilobytes on each item that a loop visits. */
const MAX_ITEMS = 50_000;

interface Loop {
  type: string;
  iterable?: { lhs?: object };
}

/** A template took more than any honest one does. */
export class TemplateLimitError extends Error {}

interface Value {
  value: unknown;
  builtins: Map<string, unknown>;
}

interface FunctionValue {
  value: (args: readonly Value[], scope: object) => Value;
}

/** What is used of the package, whose own declarations do not resolve under Node's rules for ES modules. */
const { Environment, Interpreter, Template } = jinja as {
  Environment: new (parent?: object) => {
    set(name: string, value: unknown): Value;
    setVariable(name: string, value: Value): void;
  };
  Interpreter: new (environment: object) => {
    run(program: object): Value;
    evaluate(statement: object | undefined, environment: object): Value;
  };
  Template: new (source: string) => { parsed: object; render(variables: object): string };
};

/**
 * A Jinja template that cannot take the process down. Templates come with downloaded models, so what one may do is bounded: steps,
 * weighed by the size of what they make, the length of a text and of a list.
 */
export class BoundedTemplate {
  private readonly template: { parsed: object };
  /** Lasting values as the package has them. */
  private readonly converted = new WeakMap<object, Value>();

  /** @throws what the package's parser throws. */
  constructor(source: string) {
    this.template = new Template(source);
  }

  /**
   * @param lasting further variables, whose values are the same objects in many calls: they are converted once, and must not change
   * @throws TemplateLimitError, or the template's own error.
   */
  render(variables: Readonly<Record<string, unknown>>, lasting: Readonly<Record<string, object>> = {}): string {
    const environment = new Environment(globals());
    for (const [name, value] of Object.entries(variables)) environment.set(name, value);
    for (const [name, value] of Object.entries(lasting)) environment.setVariable(name, this.convert(value));
    return new BoundedInterpreter(environment).run(this.template.parsed).value as string;
  }

  private convert(value: object): Value {
    let converted = this.converted.get(value);
    if (converted === undefined) {
      converted = new Environment().set("value", value);
      this.converted.set(value, converted);
    }
    return converted;
  }
}

class BoundedInterpreter extends Interpreter {
  private cost = 0;
  /** What the loops so far go over. */
  private readonly iterables = new WeakSet<object>();

  override evaluate(statement: object | undefined, environment: object): Value {
    this.spend(1);
    const { type, iterable } = (statement ?? {}) as Loop;
    if (type === "For" && iterable !== undefined) this.iterables.add(iterable.lhs ?? iterable);
    const result = super.evaluate(statement, environment);
    const value: unknown = result.value;
    if (typeof value === "string") {
      if (value.length > MAX_CHARACTERS) throw new TemplateLimitError(`it makes a text of ${value.length} characters`);
      this.spend(value.length / SIZE_OF_STEP);
      if (value.length > MAX_ITEMS) boundSplit(result, value);
    } else if (Array.isArray(value)) {
      requireItems(value.length);
      this.spend(value.length * (this.iterables.has(statement!) ? COST_OF_PASS : 1 / SIZE_OF_STEP));
    }
    return result;
  }

  private spend(cost: number): void {
    this.cost += cost;
    if (this.cost > MAX_COST) throw new TemplateLimitError("it does not come to an end");
  }
}

/** What the package defines for every template; it keeps the function that does so to itself. */
const GLOBALS: Readonly<Record<string, unknown>> = {
  true: true,
  True: true,
  false: false,
  False: false,
  none: null,
  None: null,
  raise_exception: (message: string) => {
    throw new Error(message);
  },
  range,
  strftime_now: (format: string) => STRFTIME.render({ format }),
};

let shared: object | undefined;

/** Where templates find `GLOBALS`; what they set lies in environments of their own. */
function globals(): object {
  if (shared !== undefined) return shared;
  const environment = new Environment();
  for (const [name, value] of Object.entries(GLOBALS)) environment.set(name, value);
  return (shared = environment);
}

const STRFTIME = new Template("{{ strftime_now(format) }}");

/** As Python's. */
function range(first: number, second?: number, step = 1): number[] {
  const [start, stop] = second === undefined ? [0, first] : [first, second];
  if (step === 0) throw new Error("range() step must not be zero");
  const length = Math.max(0, Math.ceil((stop - start) / step));
  requireItems(length);
  return Array.from({ length }, (_, index) => start + index * step);
}

/** Makes the `split` of a long text count its pieces first: the package makes them all at once, some kilobytes each. */
function boundSplit(text: Value, value: string): void {
  const split = text.builtins.get("split") as FunctionValue | undefined;
  if (split === undefined) return;
  const make = split.constructor as new (value: FunctionValue["value"]) => FunctionValue;
  const bounded: FunctionValue["value"] = (args, scope) => {
    const separator: unknown = args[0]?.value;
    requireItems(piecesOf(value, typeof separator === "string" ? separator : undefined));
    return split.value(args, scope);
  };
  text.builtins.set("split", new make(bounded));
}

/** Pieces at most; without a separator, runs of white space part them. */
function piecesOf(value: string, separator: string | undefined): number {
  let pieces = 1;
  if (separator === undefined) for (const _ of value.matchAll(/\s\S/g)) pieces += 1;
  else if (separator === "") pieces = value.length;
  else
    for (let at = value.indexOf(separator); at >= 0; at = value.indexOf(separator, at + separator.length)) pieces += 1;
  return pieces;
}

function requireItems(length: number): void {
  // Not a number: the package hands on whatever the template wrote.
  if (!(length <= MAX_ITEMS)) throw new TemplateLimitError(`it makes a list of ${length} items`);
}
