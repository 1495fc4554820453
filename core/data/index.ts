export type * from "./dataset.ts";
export type * from "./tokenizer.ts";
