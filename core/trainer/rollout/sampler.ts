import type { DataProto } from "../../batch/data-proto.ts";
import type { GroupOf } from "../../controller/index.ts";
import type { ActorRolloutRefWorker } from "../workers/actor-rollout-ref-worker.ts";
import type { GenerateOptions } from "../workers/answer-prompts.ts";

/** Whatever answers prompts of the trainer, on whatever ranks. */
export interface Sampler {
  /** Answers every row: the batch with verl's rollout fields, without the rows of groups that failed. */
  generateSequences(prompts: DataProto, options: GenerateOptions): PromiseLike<DataProto>;
  /** Answers will be asked for. @param options with `weights`, by the weights as they are trained now. */
  rolloutMode(options: { weights: boolean }): Promise<void>;
  /** None will be until the next `rolloutMode`. @param options with `weights`, that one brings other weights. */
  trainerMode(options: { weights: boolean }): Promise<void>;
}

type Answers = Pick<Sampler, "generateSequences">;

/** A sampler that shares its ranks with the actor: it sleeps while the actor trains. @param answers runs the agent loops. */
export function hybridSampler(policy: GroupOf<ActorRolloutRefWorker>, answers: Answers): Sampler {
  return {
    generateSequences: (prompts, options) => answers.generateSequences(prompts, options),
    rolloutMode: async (options) => void (await policy.rolloutMode(options)),
    trainerMode: async (options) => void (await policy.trainerMode(options)),
  };
}

/** A sampler on ranks of its own: the actor's weights are sent to it in parts of at most `bucketBytes`, and it never sleeps. */
export function standaloneSampler(
  policy: GroupOf<ActorRolloutRefWorker>,
  rollout: GroupOf<ActorRolloutRefWorker>,
  answers: Answers,
  bucketBytes: number,
): Sampler {
  return {
    generateSequences: (prompts, options) => answers.generateSequences(prompts, options),
    async rolloutMode({ weights }) {
      for (let index = 0, last = !weights; !last; index++) {
        const [bucket] = await policy.exportBucket(index, bucketBytes);
        await rollout.takeBucket(bucket!);
        ({ last } = bucket!);
      }
    },
    trainerMode: () => Promise.resolve(),
  };
}
