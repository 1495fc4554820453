export { NdArray, type DType } from "./nd-array.ts";
