import { provide } from "verl";
import { seqMeanTokenMean } from "./seq-mean-token-mean.ts";
import { seqMeanTokenSumNorm } from "./seq-mean-token-sum-norm.ts";
import { seqMeanTokenSum } from "./seq-mean-token-sum.ts";
import { tokenMean } from "./token-mean.ts";

/** Built-in aggregation modes. */
export const lossAggs = [
  provide("loss_agg", "token-mean", tokenMean),
  provide("loss_agg", "seq-mean-token-sum", seqMeanTokenSum),
  provide("loss_agg", "seq-mean-token-mean", seqMeanTokenMean),
  provide("loss_agg", "seq-mean-token-sum-norm", seqMeanTokenSumNorm),
];
