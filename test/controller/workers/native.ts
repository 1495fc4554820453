import type { Listener } from "../../../core/controller/listener.ts";
import { register } from "../../../core/controller/register.ts";
import { Worker } from "../../../core/controller/worker.ts";
import { encodeModel } from "../../../plugins/tensor-backend/ort/onnx/model.ts";
import { Session } from "../../../plugins/tensor-backend/ort/session.ts";

const SIZE = 128;

/** A worker that is in onnxruntime's native code nearly all the time. */
export class Native extends Worker {
  static override readonly module = import.meta.url;

  /** Never ends. @param pauses lets the event loop turn, now and then */
  @register({ dispatchMode: "ONE_TO_ALL" })
  async multiply(begun: Listener<unknown>, pauses: boolean): Promise<void> {
    const square = { type: 1, shape: [SIZE, SIZE] } as const;
    const product = { type: "MatMul", inputs: ["a", "a"], outputs: ["b"], attributes: {} };
    const inputs = [{ name: "a", ...square }];
    const model = encodeModel({ nodes: [product], initializers: [], inputs, outputs: [{ name: "b", ...square }] });
    const session = new Session(model, [{ name: "a", dtype: "float32", shape: square.shape }], ["b"], { threads: 1 });
    for (let run = 0; ; run++) {
      session.run([new Float32Array(SIZE * SIZE)]);
      if (run === 9) begun.tell(this.rank);
      if (run < 10 || (pauses && run % 50 === 0)) await new Promise(setImmediate);
    }
  }
}
