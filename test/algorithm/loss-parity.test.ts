import * as tf from "@tensorflow/tfjs";
import { beforeAll, describe } from "@jest/globals";
import { registerOrt } from "../../plugins/tensor-backend/ort/register-ort.ts";
import { testLossParity } from "./loss-parity-cases.ts";

registerOrt({ threads: 1 });

describe.each(["cpu", "ort"])("on %s", (backend) => {
  beforeAll(async () => {
    await tf.setBackend(backend);
  });
  testLossParity();
});
