import { provide } from "verl";
import { cpu } from "./cpu.ts";
import { ort } from "./ort/index.ts";
import { wasm } from "./wasm.ts";

export const tensorBackends = [
  provide("tensor_backend", "ort", ort),
  provide("tensor_backend", "wasm", wasm),
  provide("tensor_backend", "cpu", cpu),
];
