import type { LoadedConfig } from "../config/index.ts";

/** True where a file or an override sets a key: its value is not the default. */
export function isGiven({ originOf }: Pick<LoadedConfig, "originOf">, path: string): boolean {
  const { file, override } = originOf(path);
  return (file ?? override) !== undefined;
}
