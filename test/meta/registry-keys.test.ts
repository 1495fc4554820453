import { expect, it } from "@jest/globals";
import type { Kind } from "../../core/registry/index.ts";
import plugin from "../../plugins/index.ts";
import { sources } from "./files.ts";

/** Kinds whose keys test/testing/built-ins.test.ts takes from the registry, each through the whole kit. */
const IN_KIT: readonly Kind[] = ["adv_estimator", "policy_loss", "loss_agg", "kl_penalty"];

const tests = sources(["test"], /\.ts$/).filter(([path]) => !path.startsWith("test/meta"));

it("each key goes through the kit, or a test names it", () => {
  const kit = tests.find(([path]) => path === "test/testing/built-ins.test.ts")![1];
  for (const kind of IN_KIT) expect(kit).toContain(`registries.${kind}.keys()`);
  const untested = plugin.provides.filter(
    ({ kind, key }) =>
      !IN_KIT.includes(kind) && !tests.some(([, text]) => new RegExp(`["'\`=: .]${escaped(key)}(?![\\w-])`).test(text)),
  );
  expect(untested.map(({ kind, key }) => `${kind}/${key}`)).toEqual([]);
});

it("no entry has an empty table or list where it could leave it out", () => {
  const empty = plugin.provides.filter(({ entry: { metrics, departures, requires, aliases } }) =>
    [metrics, departures, requires, aliases].some((part) => part !== undefined && Object.keys(part).length === 0),
  );
  expect(empty.map(({ kind, key }) => `${kind}/${key}`)).toEqual([]);
});

const escaped = (key: string): string => key.replace(/[.+*?^$()[\]{}|\\]/g, "\\$&");
