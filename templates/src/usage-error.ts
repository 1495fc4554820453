/** Something that the user wrote cannot be meant so; the message says what, and what to write instead. */
export class UsageError extends Error {}

/** The user gave up at a question or pressed Ctrl-C; the message says what became of the project. */
export class Cancelled extends Error {}
