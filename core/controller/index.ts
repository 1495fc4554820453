export { ClassWithInitArgs, type DeferredWorker, type WorkerPart, type WorkerSource } from "./class-with-init-args.ts";
export { ColocatedWorkerClass, createColocatedWorkerClass, type Roles } from "./colocated.ts";
export { DataProtoFuture } from "./data-proto-future.ts";
export {
  registerDispatchMode,
  updateDispatchMode,
  type DispatchFunctions,
  type DispatchMode,
  type DispatchTarget,
  type ExecuteMode,
  type RankArguments,
} from "./dispatch.ts";
export type { GroupCall } from "./group-call.ts";
export { HEALTH_LIMITS, type HealthEvent, type HealthLimits } from "./health.ts";
export { InlineTransport } from "./inline-transport.ts";
export type { NodeResources, Resources } from "./node-resources.ts";
export { joinBatches, type OutputPlaces } from "./join-batches.ts";
export { Listener } from "./listener.ts";
export { ndCompute, ndComputeDataProto } from "./nd-compute.ts";
export { ExchangeHub, MeetingPeers, type Brought, type CallKey, type Peers } from "./peers.ts";
export type { ChannelMessage, Lent, RankChannel, SentMessage } from "./rank-channel.ts";
export { RayTransport } from "./ray/ray-transport.ts";
export { register, type MethodMark, type MethodOptions, type RegisterOptions } from "./register.ts";
export { startRank, type RemoteRankOptions } from "./remote-rank.ts";
export type { ResourcePlan } from "./resource-plan.ts";
export { ResourcePoolManager, type WaitOptions } from "./resource-pool-manager.ts";
export { ResourcePool, type RankPlace, type ResourcePoolOptions } from "./resource-pool.ts";
export { serveRank, type ServeOptions } from "./serve-rank.ts";
export { shareArguments } from "./share-arguments.ts";
export { ThreadTransport } from "./thread/thread-transport.ts";
export {
  rankEnv,
  type ConfigFault,
  type RankHandle,
  type SpawnRequest,
  type Transport,
  type TransportEntry,
} from "./transport.ts";
export { Worker, type MeshPlace, type WorkerClass, type WorkerContext } from "./worker.ts";
export {
  WorkerGroup,
  type ColocatedGroup,
  type GroupMethods,
  type GroupOf,
  type GroupsOf,
  type WorkerGroupOptions,
} from "./worker-group.ts";
export type { PackedError } from "./rank-protocol.ts";
