/** What a session tells beside its exchanges. */
export interface SessionCounts {
  /** Requests that were answered. */
  requests: number;
  /** Requests whose client went away, or whose session ended, before the answer. */
  aborted: number;
  /** Requests that ended with an error. */
  failed: number;
  /** Requests that asked for another sampling than the run's. */
  samplingOverridden: number;
  /** Requests for a form of answer that the model was not held to. */
  formsNotEnforced: number;
  /** Requests with variables of their own for the chat template. */
  templateVariables: number;
  /** Requests with fields that are not known, and ignored. */
  unknownFields: number;
  /** Stretches of answers that look like calls and are none. */
  invalidCalls: number;
  /** Calls that the client did not get, as it asked for one at a time. */
  callsLeftOut: number;
  /**
   * Requests after the first answer that go on from none (the history was rewritten, the tools are others, or it is a task of its own), or
   * from an earlier one with answers behind it that were rewritten.
   */
  historyBreaks: number;
}

/** The counts of a session that begins. */
export const noCounts = (): SessionCounts => ({
  requests: 0,
  aborted: 0,
  failed: 0,
  samplingOverridden: 0,
  formsNotEnforced: 0,
  templateVariables: 0,
  unknownFields: 0,
  invalidCalls: 0,
  callsLeftOut: 0,
  historyBreaks: 0,
});
