import { isFarLonger } from "./text.ts";

/**
 * The MATH benchmark's normaliser, with all its rules in their order. Thousands commas stay.
 * @returns undefined where the original raises: a `\frac` or `\sqrt` at the end, or two units.
 */
function stripString(text: string): string | undefined {
  let s = text
    .replaceAll("\n", "")
    .replaceAll("\\!", "")
    .replaceAll("\\\\", "\\")
    .replaceAll("tfrac", "frac")
    .replaceAll("dfrac", "frac")
    .replaceAll("\\left", "")
    .replaceAll("\\right", "")
    .replaceAll("^{\\circ}", "")
    .replaceAll("^\\circ", "")
    .replaceAll("\\$", "");
  const [beforeUnit, ...units] = s.split("\\text{ ");
  if (units.length > 1) return undefined;
  s = beforeUnit!.replaceAll("\\%", "").replaceAll(" .", " 0.").replaceAll("{.", "{0.");
  if (s === "") return s;
  if (s.startsWith(".")) s = `0${s}`;
  const sides = s.split("=");
  if (sides.length === 2 && sides[0]!.length <= 2) s = sides[1]!;

  const rooted = braceRoots(s);
  const fractions = rooted === undefined ? undefined : braceFractions(rooted.replaceAll(" ", ""));
  if (fractions === undefined) return undefined;
  if (fractions === "0.5") return "\\frac{1}{2}";
  const slash = /^(-?[1-9]\d*|0)\/(-?[1-9]\d*|0)$/.exec(fractions);
  return slash === null ? fractions : `\\frac{${slash[1]}}{${slash[2]}}`;
}

/** Whether two answers are one after normalising; the texts themselves decide where that fails. */
export function sameStripped(a: string, b: string): boolean {
  if (isFarLonger(a, b) || isFarLonger(b, a)) return false;
  const [x, y] = [stripString(a), stripString(b)];
  return x === undefined || y === undefined ? a === b : x === y;
}

/** `\sqrt3` → `\sqrt{3}` */
function braceRoots(text: string): string | undefined {
  const [first, ...rest] = text.split("\\sqrt");
  let out = first!;
  for (const part of rest) {
    if (part === "") return undefined;
    out += part.startsWith("{") ? `\\sqrt${part}` : `\\sqrt{${part[0]}}${part.slice(1)}`;
  }
  return out;
}

/** `\frac12` → `\frac{1}{2}`, `\frac1{72}` → `\frac{1}{72}`; nothing is changed where one has a single character left. */
function braceFractions(text: string): string | undefined {
  const [first, ...rest] = text.split("\\frac");
  let out = first!;
  for (const part of rest) {
    if (part === "") return undefined;
    if (part.startsWith("{")) out += `\\frac${part}`;
    else if (part.length < 2) return text;
    else out += `\\frac{${part[0]}}${part[1] === "{" ? part.slice(1) : `{${part[1]}}${part.slice(2)}`}`;
  }
  return out;
}
