import { describe, expect, it } from "@jest/globals";
import { moduleResolver } from "../../core/registry/module-resolver.ts";

const HOME = "file:///node_modules/verl/dist/index.js";
const missing = (): Error => Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });

/** Finds what is installed beside a parent; `later` answers by promises, as the hooks of an older Node do. */
const resolving = (installed: Record<string, string>, later: boolean) => (specifier: string, parentURL: string) => {
  const next = (wanted: string, { parentURL: parent }: { parentURL?: string }) => {
    const url = installed[`${wanted} from ${parent}`];
    const found = url === undefined ? missing() : { url, format: "commonjs" };
    if (later) return found instanceof Error ? Promise.reject(found) : Promise.resolve(found);
    if (found instanceof Error) throw found;
    return found;
  };
  return Promise.resolve().then(() => moduleResolver(HOME)(specifier, { parentURL }, next));
};

describe.each([false, true])("the module hook, its results as promises: %s", (later) => {
  const resolve = resolving(
    {
      "verl from a.ts": "own/verl.js",
      [`verl from ${HOME}`]: "our/verl.js",
      [`verl/testing from ${HOME}`]: "our/testing.js",
      [`@tensorflow/tfjs from ${HOME}`]: "our/tfjs.js",
      [`yaml from ${HOME}`]: "our/yaml.js",
      "./b.ts from a.ts": "b.ts",
    },
    later,
  );

  it("leaves what is found, but takes a .ts file for an ES module", async () => {
    expect(await resolve("verl", "a.ts")).toEqual({ url: "own/verl.js", format: "commonjs" });
    expect(await resolve("./b.ts", "a.ts")).toEqual({ url: "b.ts", format: "module" });
  });

  it("finds this package and tfjs from anywhere", async () => {
    for (const [specifier, url] of [
      ["verl", "our/verl.js"],
      ["verl/testing", "our/testing.js"],
      ["@tensorflow/tfjs", "our/tfjs.js"],
    ] as const) {
      expect(await resolve(specifier, "elsewhere.ts")).toMatchObject({ url });
    }
  });

  it("finds no other package for a file that has not installed it", async () => {
    await expect(resolve("yaml", "elsewhere.ts")).rejects.toMatchObject({ code: "ERR_MODULE_NOT_FOUND" });
    await expect(resolve("verl-plugin-x", "elsewhere.ts")).rejects.toMatchObject({ code: "ERR_MODULE_NOT_FOUND" });
  });
});
