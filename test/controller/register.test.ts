import { describe, expect, it } from "@jest/globals";
import { registerDispatchMode, type DispatchFunctions } from "../../core/controller/dispatch.ts";
import { register, registeredMethods } from "../../core/controller/register.ts";

const MODE = "Give the name of a dispatch mode, or an object with the functions dispatch and collect.";

describe("register", () => {
  it("marks methods as a standard decorator, and as one of experimentalDecorators", () => {
    class Marked {
      standard(): Promise<void> {
        return Promise.resolve();
      }

      @register({ executeMode: "RANK_ZERO" })
      experimental(): Promise<void> {
        return Promise.resolve();
      }
    }
    const { standard } = Object.getOwnPropertyDescriptors(Marked.prototype);
    register({ blocking: false })(standard.value!, { kind: "method" });
    expect([...registeredMethods(Marked).entries()]).toEqual([
      ["standard", expect.objectContaining({ blocking: false, executeMode: "ALL" })],
      ["experimental", expect.objectContaining({ blocking: true, executeMode: "RANK_ZERO" })],
    ]);
  });

  const mark = (options: unknown): (() => void) => {
    class Marked {
      update(): void {}
    }
    const given = register as (options: unknown) => MethodDecorator;
    const { update } = Object.getOwnPropertyDescriptors(Marked.prototype);
    return () => void given(options)(Marked.prototype, "update", update);
  };
  const takes =
    "Write @register({ dispatchMode, executeMode, blocking, materializeFutures }), each of which may be absent.";

  it.each<[string, unknown, string, string]>([
    ["a mode alone", "ONE_TO_ALL", "is given a string in place of its options.", takes],
    ["a list", ["ONE_TO_ALL"], "is given a list in place of its options.", takes],
    ["null", null, "is given null in place of its options.", takes],
    [
      "another case",
      { dispatchmode: "ONE_TO_ALL" },
      'has no option "dispatchmode".',
      `Did you mean "dispatchMode"? ${takes}`,
    ],
    ["another option", { retries: 3 }, 'has no option "retries".', takes],
    ["no dispatch mode", { dispatchMode: null }, "is given null as `dispatchMode`.", MODE],
    ["a number as a dispatch mode", { dispatchMode: 5 }, "is given a number as `dispatchMode`.", MODE],
    [
      "half a mode",
      { dispatchMode: { dispatch: () => [] } },
      "is given a `dispatchMode` without a function `collect`.",
      MODE,
    ],
    [
      "the other half",
      { dispatchMode: { collect: () => [] } },
      "is given a `dispatchMode` without a function `dispatch`.",
      MODE,
    ],
    [
      "ranks as an execute mode",
      { executeMode: [0] },
      "is given a list as `executeMode`.",
      "Give the name of an execute mode.",
    ],
    ["a word for yes", { blocking: "yes" }, "is given a string as `blocking`.", "Give true or false."],
    ["a number for no", { materializeFutures: 0 }, "is given a number as `materializeFutures`.", "Give true or false."],
  ])("refuses %s", (_, options, words, hint) => {
    let error: unknown;
    try {
      mark(options)();
    } catch (reason) {
      error = reason;
    }
    expect(error).toMatchObject({
      code: "VERL_WORKER_REGISTER",
      message: `The @register of Marked.update ${words}`,
      hint,
    });
  });

  it("refuses to stand bare, in both kinds of decorators", () => {
    const bare = register as unknown as (target: unknown, name: unknown, descriptor?: unknown) => void;
    class Marked {
      update(): void {}
    }
    const { update } = Object.getOwnPropertyDescriptors(Marked.prototype);
    const refused = { code: "VERL_WORKER_REGISTER", hint: "Write @register() for a method of the default modes." };
    for (const [place, where] of [
      [() => bare(Marked.prototype, "update", update), "Marked.update"],
      [() => bare(update.value, { kind: "method", name: "update" }), "update"],
    ] as const) {
      expect(place).toThrow(
        expect.objectContaining({ ...refused, message: `The @register of ${where} stands without parentheses.` }),
      );
    }
  });

  it("takes options that are undefined as absent, and modes that are instances of classes", () => {
    class Mode implements DispatchFunctions {
      dispatch(): [] {
        return [];
      }

      collect(): void {}
    }
    expect(mark(undefined)).not.toThrow();
    expect(mark({ dispatchMode: undefined, blocking: undefined })).not.toThrow();
    expect(mark({ dispatchMode: new Mode() })).not.toThrow();
  });
});

describe("a dispatch mode", () => {
  it.each([undefined, null, 5, "ALL", {}])("is refused where it is none: %j", (mode) => {
    expect(() => registerDispatchMode("test-none", mode as DispatchFunctions)).toThrow(
      expect.objectContaining({
        code: "VERL_ENTRY_META_INVALID",
        message: 'The dispatch mode "test-none" of this program has no function `dispatch`.',
      }),
    );
  });
});
