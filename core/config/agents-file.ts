import type { ErrorLocation } from "../errors/index.ts";
import { registries, resolveOptions, type KeysBeside } from "../registry/index.ts";
import { missingFiles } from "./option-files.ts";
import type { Problem } from "./problem.ts";
import { readEntriesFile, textField, type EntryNames, type FileEntry } from "./entries-file.ts";

/** Where the config names the file. */
const AGENTS_FILE = "actor_rollout_ref.rollout.agent.agent_loop_config_path";

const NAMES: EntryNames = { title: "agent loops", field: "name", of: ({ name }) => name };

/** Agent loops with options, which a file of the run gives names of its own. */
export class AgentsFile {
  private readonly entries: readonly FileEntry[];

  /** @param path null: there is none. @throws VerlError VERL_AGENT_FILE */
  constructor(private readonly path: string | null) {
    this.entries = path === null ? [] : readEntriesFile(path, "agent_loops", AGENTS_FILE, NAMES);
  }

  /** Every name, for what is told of one that nothing goes by. */
  get names(): KeysBeside {
    const keys = this.entries.map(({ name }) => name).filter((name) => typeof name === "string");
    return { keys, source: this.path ?? "" };
  }

  /**
   * The entry of a name: a key of the registry `agent_loop`, and its options; undefined where the file has none.
   * @throws VerlError VERL_AGENT_FILE, VERL_REGISTRY_KEY_UNKNOWN, VERL_OPTIONS_INVALID
   */
  find(
    name: string,
  ): { key: string; options: Record<string, unknown>; locate: { file: string; path: string } } | undefined {
    const entry = this.entries.find((candidate) => candidate["name"] === name);
    if (entry === undefined) return undefined;
    const { name: _name, _target_: _key, ...given } = entry;
    const key = textField(entry, "_target_", AGENTS_FILE);
    const locate = { file: this.path!, path: AGENTS_FILE };
    return { key, options: resolveOptions("agent_loop", key, given, locate), locate };
  }

  /** Finds what no entry of the file may have wrong. @returns files that their options name and that are not there. @throws as `find` */
  check(): Problem[] {
    return this.entries.flatMap((entry) => {
      const { key, options, locate } = this.find(textField(entry, "name", AGENTS_FILE))!;
      return missingFiles("agent_loop", key, options, locate);
    });
  }

  /** Makes sure that there is a loop of that name, here or in the registry. @throws VERL_REGISTRY_KEY_UNKNOWN with the nearest of both */
  require(name: string, location?: ErrorLocation): void {
    if (this.find(name) === undefined) registries.agent_loop.find(name, location, this.names);
  }
}
