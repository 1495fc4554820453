/** An implementation under test. */
export interface Kernel {
  /** tfjs' name of the backend that has it. */
  readonly backend: string;
  /** Most that its numbers may be off, relatively. */
  readonly tolerance: number;
  /** What float32 takes of a difference, relative to the numbers that almost cancel in it. Default: 0. */
  readonly rounding?: number;
  /** Fills memory that results of this size will be written to. */
  readonly poison?: (size: number, buffers?: number) => Promise<void>;
}
