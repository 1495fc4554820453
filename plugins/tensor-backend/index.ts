import { provide } from "verl";
import { cpu } from "./cpu.ts";
import { ort } from "./ort/index.ts";
import { tensorflow } from "./tensorflow/index.ts";
import { wasm } from "./wasm.ts";
import { webgpu } from "./webgpu/index.ts";

export const tensorBackends = [
  provide("tensor_backend", "ort", ort),
  provide("tensor_backend", "webgpu", webgpu),
  provide("tensor_backend", "tensorflow", tensorflow),
  provide("tensor_backend", "wasm", wasm),
  provide("tensor_backend", "cpu", cpu),
];
