export { Progress, type ProgressOptions, type ProgressStream } from "./progress.ts";
