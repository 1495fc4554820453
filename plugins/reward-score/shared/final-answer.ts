import { unwrap } from "./text.ts";

const SUBSTITUTIONS = [
  ["an ", ""],
  ["a ", ""],
  [".$", "$"],
  ["\\$", ""],
  ["\\ ", ""],
  [" ", ""],
  ["mbox", "text"],
  [",\\text{and}", ","],
  ["\\text{and}", ","],
  ["\\text{m}", "\\text{}"],
] as const;

const REMOVED =
  "square ways integers dollars mph inches hours km units \\ldots sue points feet minutes digits cents degrees cm gm pounds meters meals edges students childrentickets multiples"
    .split(" ")
    .concat(["\\text{s}", "\\text{.}", "\\text{\ns}", "\\text{}^2", "\\text{}^3", "\\text{\n}", "\\text{}"])
    .concat(["\\mathrm{th}", "^\\circ", "^{\\circ}", "\\;", ",\\!", "{,}", '"', "\\dots"]);

/** DAPO's normaliser of final answers (after Lewkowycz et al., arXiv 2206.14858), with all its rules in their order. Linear. */
export function normalizeFinalAnswer(text: string): string {
  let s = text.slice(text.lastIndexOf("=") + 1);
  for (const [from, to] of SUBSTITUTIONS) s = s.replaceAll(from, to);
  for (const word of REMOVED) s = s.replaceAll(word, "");
  const open = s.indexOf("$");
  const close = s.indexOf("$", open + 1);
  if (open >= 0 && close > open) s = s.slice(open, close + 1);
  for (const command of ["\\text{", "\\textbf{", "\\overline{"]) s = unwrap(s, command, "}");
  const box = s.indexOf("\\boxed{");
  const boxEnd = s.lastIndexOf("}");
  if (box >= 0 && boxEnd > box) s = s.slice(0, box) + s.slice(box + 7, boxEnd) + s.slice(boxEnd + 1);
  s = s
    .replace(/frac([^{])([^\n])/gu, "frac{$1}{$2}")
    .replace(/sqrt([^{])/gu, "sqrt{$1}")
    .replaceAll("$", "");
  const digits = s.replaceAll(",", "");
  return (/^\d+$/.test(digits) ? digits : s).trim();
}
