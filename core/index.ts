/** The public face of the SDK. Nothing else is public but `verl/testing` and the built-in plugin, `verl/plugins`. */
export * from "./errors/index.ts";
export * from "./registry/index.ts";
export * from "./config/index.ts";
export * from "./batch/index.ts";
export * from "./tensor/index.ts";
export * from "./algorithm/index.ts";
export * from "./engine/index.ts";
export * from "./data/index.ts";
export * from "./reward/index.ts";
export * from "./agent/index.ts";
export * from "./controller/index.ts";
export * from "./trainer/index.ts";
