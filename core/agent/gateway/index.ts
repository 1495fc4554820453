export type { ApiError } from "./api-error.ts";
export { branchEnds, pickBranch, sampledTokens, trajectoriesOf, trajectoryOf, type BranchRule } from "./branches.ts";
export type { Exchange } from "./exchange.ts";
export { Gateway, type GatewayAccess, type GatewayOptions } from "./gateway.ts";
export type { GatewaySession, SessionOptions } from "./gateway-session.ts";
export type { SessionCounts } from "./session-counts.ts";
export { tellsRefusal } from "./refusal-told.ts";
