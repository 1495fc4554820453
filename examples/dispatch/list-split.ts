import { registerDispatchMode } from "verl";

/** Cuts a list in `parts` pieces that differ by one in length; the first are the longer ones. */
function cut<T>(list: readonly T[], parts: number): T[][] {
  const [size, longer] = [Math.floor(list.length / parts), list.length % parts];
  return Array.from({ length: parts }, (_, part) => {
    const start = part * size + Math.min(part, longer);
    return list.slice(start, start + size + (part < longer ? 1 : 0));
  });
}

/** A dispatch mode of one's own: lists are cut over the ranks, anything else goes to each, and the ranks' lists become one. */
registerDispatchMode("LIST_SPLIT", {
  description: "Cuts lists over the ranks and joins the ranks' lists.",
  dispatch({ worldSize }, args) {
    const columns = args.map((arg): readonly unknown[] =>
      Array.isArray(arg) ? cut(arg, worldSize) : new Array<unknown>(worldSize).fill(arg),
    );
    return Array.from({ length: worldSize }, (_, rank) => columns.map((column) => column[rank]));
  },
  collect: (_target, outputs) => (outputs as readonly unknown[][]).flat(),
});
