import { ApiError } from "./api-error.ts";

export interface RoomLimits {
  /** Tokens of the longest first prompt, and of any prompt in a batch. Default: no limit but the engine's. */
  promptLength?: number;
  /** Tokens that the model can read and write in all. Default: no limit but the engine's. */
  contextLength?: number;
}

/** Tokens that a session has room for: a batch holds so much of a prompt, and so much of what comes after it. */
export class SessionRoom {
  /** What requests were told that were refused because their conversation has no room left. */
  readonly refusals = new Set<string>();
  private readonly promptLength: number;
  private readonly contextLength: number;

  /** @param responseLength Tokens that a conversation may have after its first prompt. */
  constructor(
    { promptLength = Infinity, contextLength = Infinity }: RoomLimits,
    private readonly responseLength: number,
  ) {
    this.promptLength = promptLength;
    this.contextLength = contextLength;
  }

  /** Tokens of a first prompt that the batch holds as the prompt; the rest is the response's, under no mask. */
  promptOf(length: number): number {
    return Math.min(length, this.promptLength);
  }

  /** @param isFirst Nothing was answered before. @throws ApiError for a prompt that is empty, or has no place in a batch */
  admitBeginning(length: number, isFirst: boolean): void {
    if (length === 0) throw new ApiError(400, "The prompt has no token.", "invalid_value", "messages");
    if (isFirst) {
      if (length <= this.promptLength) return;
      throw this.refuse(`The prompt has ${length} tokens; a prompt may have ${this.promptLength}.`);
    }
    const most = this.promptLength + this.responseLength;
    if (length < most) return;
    throw this.refuse(
      `The prompt has ${length} tokens and goes on from no answer of this run, as its history or its tools are others; with its answer ` +
        `it may have ${most} (rollout.prompt_length + rollout.response_length). Only append to the messages and keep the tools, or raise the latter.`,
    );
  }

  /** Tokens that an answer may have. @throws ApiError when there are none left */
  forAnswer(length: number, promptLength: number): number {
    if (length >= this.contextLength) {
      throw this.refuse(`The prompt has ${length} tokens; the model has room for ${this.contextLength}.`);
    }
    const room = Math.min(this.responseLength - (length - promptLength), this.contextLength - length);
    if (room >= 1) return room;
    throw this.refuse(
      `The conversation has ${length - promptLength} tokens after its first prompt; ${this.responseLength} are allowed, the answer included.`,
    );
  }

  private refuse(what: string): ApiError {
    this.refusals.add(what);
    return new ApiError(400, what, "context_length_exceeded", "messages");
  }
}
