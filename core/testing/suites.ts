import type { Kind, ManifestTesting } from "../registry/index.ts";
import { advEstSuite } from "./adv-est.ts";
import { agentLoopSuite } from "./agent-loop.ts";
import { dispatchSuite } from "./dispatch.ts";
import type { EntrySubject } from "./entry-properties.ts";
import { interactionSuite } from "./interaction.ts";
import { klPenaltySuite } from "./kl-penalty.ts";
import { lossAggSuite } from "./loss-agg.ts";
import { policyLossSuite } from "./policy-loss.ts";
import { rewardManagerSuite } from "./reward-manager.ts";
import { rewardScoreSuite } from "./reward-score.ts";
import { propertyTests, type PropertyTest, type Suite, type TestedWith } from "./suite.ts";
import { toolSuite } from "./tool.ts";
import { toolParserSuite } from "./tool-parser.ts";

type TestsOf = (key: string, given: ManifestTesting) => PropertyTest[];

const tests =
  <S extends EntrySubject, Case>(suite: (key: string, options: TestedWith) => Suite<S, Case>): TestsOf =>
  (key, { options, except }) =>
    propertyTests(suite(key, { options }), except);

/** The kinds that the kit knows. */
const TESTS: Partial<Record<Kind, TestsOf>> = {
  adv_estimator: tests(advEstSuite),
  agent_loop: tests(agentLoopSuite),
  dispatch: tests(dispatchSuite),
  interaction: tests(interactionSuite),
  kl_penalty: tests(klPenaltySuite),
  loss_agg: tests(lossAggSuite),
  policy_loss: tests(policyLossSuite),
  reward_manager: tests(rewardManagerSuite),
  reward_score: tests(rewardScoreSuite),
  tool: tests(toolSuite),
  tool_parser: tests(toolParserSuite),
};

/** The tests of an entry, golden cases apart; undefined for a kind that the kit does not know. */
export const conformanceTests = (kind: Kind, key: string, given: ManifestTesting = {}): PropertyTest[] | undefined =>
  TESTS[kind]?.(key, given);
