export * from "./reward-manager.ts";
