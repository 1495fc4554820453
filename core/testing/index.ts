/** The conformance kit: what a plugin's author runs over each entry, and what every built-in passes. */
export { testAdvEst, type AdvEstCase } from "./adv-est.ts";
export { testAgentLoop, type AgentLoopCase, type AgentLoopSuiteOptions } from "./agent-loop.ts";
export type { GoldenCase, GoldenCases, Matrix, TokenFields } from "./cases.ts";
export { testDispatchMode, type DispatchCase, type DispatchSuiteOptions } from "./dispatch.ts";
export type { MakeArguments } from "./dispatch-group.ts";
export type { FieldSpec } from "./fields.ts";
export { testInteraction, type InteractionCase, type InteractionSuiteOptions } from "./interaction.ts";
export { testKlPenalty, type KlPenaltyCase } from "./kl-penalty.ts";
export { testLossAgg, type LossAggCase } from "./loss-agg.ts";
export { testPolicyLoss, type PolicyLossCase } from "./policy-loss.ts";
export { testRewardManager, type RewardManagerCase } from "./reward-manager.ts";
export { testRewardScore, type RewardScoreCase } from "./reward-score.ts";
export { testTool, type ToolCase, type ToolSuiteOptions } from "./tool.ts";
export { testToolParser, type ToolParserCase, type ToolParserSuiteOptions } from "./tool-parser.ts";
export type { SuiteOptions, TestRunner } from "./suite.ts";
