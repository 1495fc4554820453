import { beforeEach } from "@jest/globals";
import * as tf from "@tensorflow/tfjs";
import { tensorflow } from "../../../plugins/tensor-backend/tensorflow/index.ts";

// Every suite that does not choose a backend runs on this one. Missing packages fail it: `verl backend install tensorflow` brings them.
tf.enableProdMode();
await tensorflow.activate({});
beforeEach(() => tf.setBackend("tensorflow"));
