import { expect, it } from "@jest/globals";
import { feed, parserOf, unitsOf } from "./helpers.ts";
import { quoting, WRITERS } from "./quoted-call-cases.ts";

it.each(WRITERS)("%s runs no call that a text quotes, however many", (format, write) => {
  for (const count of [50, 1000]) {
    const text = quoting(write, count);
    const answer = write("f", text);
    const { calls, errors } = parserOf(format).parse(answer);
    expect(errors).toEqual([]);
    expect(calls.map(({ name, arguments: args }) => [name, args])).toEqual([["f", { s: text }]]);
    if (count === 50) expect(feed(parserOf(format), unitsOf(answer)).answer.calls).toEqual(calls);
  }
});
