import type { Problem } from "./problem.ts";
import { SCHEMAS, type SchemaName } from "./schema/index.ts";
import { locationOf, type MapNode } from "./tree.ts";

const COMMANDS: Readonly<Record<SchemaName, string>> = { ppo: "verl train", sft: "verl sft" };

/** Tells a file of the other command by its sections: it has some that only that one reads, and none that only this one does. */
export function otherCommand(written: MapNode, name: SchemaName): Problem | undefined {
  const other = name === "ppo" ? "sft" : "ppo";
  const has = (schema: SchemaName, key: string): boolean => Object.hasOwn(SCHEMAS[schema].properties ?? {}, key);
  const keys = [...written.entries.keys()];
  const theirs = keys.filter((key) => has(other, key) && !has(name, key));
  const [first] = theirs;
  if (first === undefined || keys.some((key) => has(name, key) && !has(other, key))) return undefined;
  const { key } = written.entries.get(first)!;
  return {
    code: "VERL_CONFIG_KEY_UNKNOWN",
    message: `This is a config of \`${COMMANDS[other]}\`, not of \`${COMMANDS[name]}\`: it has ${theirs.map((name) => `\`${name}\``).join(", ")}.`,
    hint: `Run \`${COMMANDS[other]}\` with it; other commands take ${other === "sft" ? "it by --sft" : "it without --sft"}.`,
    location: locationOf(key, [first]),
  };
}
