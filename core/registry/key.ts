const NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*";
const KEY = new RegExp(`^(?:${NAME}:)?${NAME}$`);
const MAX_LENGTH = 128;

/** What a key looks like, in words for messages. */
export const KEY_RULE =
  "A key is a letter or digit followed by letters, digits, `_`, `.` or `-`, with an optional `scope:` before it (`acme:my_adv`).";

/** True for a well-formed registry key, `grpo` or `acme:grpo`. */
export const isKey = (key: unknown): key is string =>
  typeof key === "string" && key.length <= MAX_LENGTH && KEY.test(key);
