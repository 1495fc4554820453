import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { loadCustomClass, requireMethods } from "../../core/data/custom-class.ts";
import { errorOf, folderWith } from "./helpers.ts";

const folder = folderWith({
  "one.mjs": "export class Only { load() {} }\nexport const helper = () => 1;",
  "two.mjs": "export class First {}\nexport class Second {}",
  "both.mjs": "export default class Main {}\nexport class Other {}",
  "broken.mjs": "throw new Error('no such table');",
  "old.py": "class Dataset: pass",
});

describe("loadCustomClass", () => {
  it("finds the class by name, or the only one, or the default export", async () => {
    const load = (path: string, name: string | null) => loadCustomClass({ path, name }, "data.custom_cls.path", folder);
    expect((await load("one.mjs", null)).name).toBe("one.mjs#Only");
    expect((await load(join(folder, "two.mjs"), "Second")).create.name).toBe("Second");
    expect((await load("both.mjs", null)).create.name).toBe("Main");
  });

  it.each([
    ["gone.mjs", null, "does not exist"],
    ["old.py", null, "Python file"],
    ["broken.mjs", null, "no such table"],
    ["two.mjs", null, "exports no class, or several"],
    ["two.mjs", "Secnd", 'no class "Secnd"'],
    ["one.mjs", "helper", 'no class "helper"'],
  ])("says what is wrong with %s, class %s", async (path, name, text) => {
    const error = await errorOf(() => loadCustomClass({ path, name }, "data.sampler.class_path", folder));
    expect(error).toMatchObject({
      code: "VERL_DATA_CUSTOM_CLASS",
      location: { file: join(folder, path), path: "data.sampler.class_path" },
    });
    expect(error.message).toContain(text);
    expect(error.hint).toBeTruthy();
  });

  it("suggests the name that was meant", async () => {
    const error = await errorOf(() => loadCustomClass({ path: "two.mjs", name: "Secnd" }, "o", folder));
    expect(error.hint).toContain("Did you mean Second?");
  });

  it("names the methods that an instance lacks", async () => {
    const error = await errorOf(() =>
      requireMethods({ load() {} }, ["load", "row", "promptIds"], { name: "one.mjs#Only", file: "one.mjs" }, "o"),
    );
    expect(error.message).toContain("without row(), promptIds()");
  });
});
