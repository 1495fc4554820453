import { describe, expect, it } from "@jest/globals";
import { register, registeredMethods } from "../../core/controller/register.ts";

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
});
