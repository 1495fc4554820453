import { expect, it } from "@jest/globals";
import { NdArray } from "verl";
import { EmbeddedRollout } from "../../plugins/rollout/embedded/embedded-rollout.ts";
import { ort } from "../../plugins/tensor-backend/ort/index.ts";
import { batchOf, linearLoss, modelFolder, tinyEngine } from "../engine/support/tiny-model.ts";

await ort.activate({ threads: 1 });

it("keeps trainer and sampler together through updates on the default backend", async () => {
  const trainer = tinyEngine();
  const sampler = new EmbeddedRollout({ role: "rollout", model: { path: modelFolder() } }, { eosTokenId: 0 });
  const prompts = [[1, 2, 3], [4], [5, 6, 7, 8, 9], [1, 2, 3]];
  for (let step = 0; step < 3; step += 1) {
    await sampler.updateWeights(await trainer.exportWeights());
    const sampling = { temperature: 0.8, top_k: -1, top_p: 1, max_tokens: 10, stop_token_ids: [] };
    const answers = await Promise.all(
      prompts.map((prompt, i) => sampler.generate(Int32Array.from(prompt), { ...sampling, seed: 10 * step + i })),
    );
    const rows = prompts.map((prompt, i) => ({ prompt, response: [...answers[i]!.ids] }));
    const weight = new NdArray("float32", [4, 10], new Float32Array(40).fill(step % 2 === 0 ? 1 : -1));
    const batch = batchOf(rows, { promptLength: 5, responseLength: 10 }, { weight });
    const { log_probs } = await trainer.forward(batch, { temperature: 0.8 });
    answers.forEach(({ logprobs }, row) =>
      logprobs.forEach((value, t) => expect(Math.abs(value - log_probs!.data[row * 10 + t]!)).toBeLessThan(1e-4)),
    );
    for (const half of [batch.slice(0, 2), batch.slice(2, 4)]) {
      await trainer.forwardBackward(half, linearLoss(0.1), { temperature: 0.8 });
    }
    expect(await trainer.optimStep()).toMatchObject({ skipped: false, lr: 0.01 });
  }
  trainer.dispose();
  sampler.dispose();
});
