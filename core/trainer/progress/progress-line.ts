/** Everything that a progress line shows. */
export interface ProgressState {
  step: number;
  total: number;
  /** What is being done now, for example `generate`; empty between steps. */
  phase: string;
  /** Parts of the phase done, and of how many; 0 of 0 when it has no parts. */
  phaseDone: number;
  phaseTotal: number;
  /** Seconds to the end, once a step was timed. */
  etaSeconds: number | undefined;
  headlines: ReadonlyMap<string, number>;
}

export interface LineStyle {
  columns: number;
  color: boolean;
}

const BAR_CELLS = 20;
const FULL = "━";
const EMPTY = "─";

/** The live line, cut to whole items that fit the terminal; the bar stays. */
export function liveLine(state: ProgressState, { columns, color }: LineStyle): string {
  const cells = state.total > 0 ? Math.min(BAR_CELLS, Math.floor((state.step / state.total) * BAR_CELLS)) : 0;
  const paint = (code: string, text: string) => (color ? `\x1b[${code}m${text}\x1b[0m` : text);
  const head = `${state.step}/${state.total} `;
  const bar = paint("36", FULL.repeat(cells)) + paint("2", EMPTY.repeat(BAR_CELLS - cells));
  let width = head.length + BAR_CELLS;
  let tail = "";
  for (const item of items(state)) {
    // One column stays free: a terminal wraps when the last one is written.
    if (width + 3 + item.length >= columns) break;
    width += 3 + item.length;
    tail += paint("2", " · ") + item;
  }
  return head + bar + tail;
}

/** The same facts as a plain line for a log. */
export function plainLine(state: ProgressState): string {
  return [`step ${state.step}/${state.total}`, ...items(state)].join(", ");
}

function items(state: ProgressState): string[] {
  const numbers = [...state.headlines].map(([label, value]) => `${label} ${shortNumber(value)}`);
  return [
    ...(state.phase ? [phaseText(state)] : []),
    ...(state.etaSeconds === undefined ? [] : [`eta ${clock(state.etaSeconds)}`]),
    ...numbers,
  ];
}

function phaseText({ phase, phaseDone, phaseTotal }: ProgressState): string {
  return phaseTotal > 0 ? `${phase} ${phaseDone}/${phaseTotal}` : phase;
}

/** `0:52`, `1:02:03`, `2d 03:00`. */
export function clock(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const two = (value: number) => String(value).padStart(2, "0");
  const [days, hours, minutes] = [
    Math.floor(whole / 86400),
    Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60,
  ];
  if (days > 0) return `${days}d ${two(hours)}:${two(minutes)}`;
  if (hours > 0) return `${hours}:${two(minutes)}:${two(whole % 60)}`;
  return `${minutes}:${two(whole % 60)}`;
}

/** Three digits, thousands as k and millions as M. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
}

/** Middle value of a list that is not empty. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
