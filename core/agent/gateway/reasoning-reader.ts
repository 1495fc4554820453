import { MarkedToolParser } from "../tool-parsing/marked-parser.ts";
import type { Scan } from "../tool-parsing/text-source.ts";

/** Splits reasoning off as parsers do, and leaves calls in the text: for requests that offer no tools. */
export class ReasoningReader extends MarkedToolParser {
  protected readonly opens: readonly string[] = [];

  protected *read(): Scan<boolean> {
    return false;
  }
}
