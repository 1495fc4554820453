import {
  ToolParser,
  type EndOptions,
  type ParsedAnswer,
  type StreamOptions,
  type ToolParserStream,
} from "../tool-parser.ts";
import { AnswerWriter } from "./answer-writer.ts";
import { TextSource, type Scan } from "./text-source.ts";
import type { TurnEnd } from "./turn-end.ts";

/** One answer on its way: where its text comes from, and where what is read goes. */
export interface Turn {
  readonly source: TextSource;
  readonly out: AnswerWriter;
  readonly options: StreamOptions;
}

/**
 * A parser written as one pass over the text, which waits where the text so far does not decide. Whole answers and pieces take the
 * same way, so they cannot differ.
 */
export abstract class StreamingToolParser extends ToolParser {
  /** Reads an answer to its end. */
  protected abstract scan(turn: Turn): Scan;

  stream(options: StreamOptions = {}): ToolParserStream {
    return new ScanStream((turn) => this.scan(turn), options);
  }
}

/** Drives a scan with pieces. */
export class ScanStream implements ToolParserStream {
  readonly turn: Turn;
  private readonly scan: Scan;

  /** @param turnEnd Keeps the tokens at the end of the answer from the scan. */
  constructor(
    scan: (turn: Turn) => Scan,
    options: StreamOptions = {},
    private readonly turnEnd?: TurnEnd,
  ) {
    this.turn = { source: new TextSource(), out: new AnswerWriter(options), options };
    this.scan = scan(this.turn);
  }

  push(piece: string): void {
    if (this.turn.source.push(this.turnEnd?.pass(piece) ?? piece)) this.scan.next();
  }

  end(options: EndOptions = {}): ParsedAnswer {
    this.turn.source.push(this.turnEnd?.rest() ?? "");
    this.turn.source.close();
    this.scan.next();
    return this.turn.out.end(options);
  }
}
