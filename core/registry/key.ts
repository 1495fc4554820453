const NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*";
const KEY = new RegExp(`^(?:${NAME}:)?${NAME}$`);
const ALIAS = /^[A-Za-z0-9][A-Za-z0-9_.:+/-]*$/;
const MAX_LENGTH = 128;

/** What a key looks like, in words for messages. */
export const KEY_RULE =
  "A key is a letter or digit followed by letters, digits, `_`, `.` or `-`, with an optional `scope:` before it (`acme:my_adv`); an alias may also hold `/` and `+`.";

/** True for a well-formed registry key, `grpo` or `acme:grpo`. */
export const isKey = (key: unknown): key is string =>
  typeof key === "string" && key.length <= MAX_LENGTH && KEY.test(key);

/** True for a well-formed alias, which may be a name from elsewhere: `openai/gsm8k`, `reinforce++`. */
export const isAlias = (alias: unknown): alias is string =>
  typeof alias === "string" && alias.length <= MAX_LENGTH && ALIAS.test(alias);
