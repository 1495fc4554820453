export type { DispatchMode, DispatchTarget } from "./dispatch.ts";
export { register, type ExecuteMode, type RegisterOptions } from "./register.ts";
export { inlineTransport, type Transport, type WorkerHandle } from "./transport.ts";
export { Worker, type WorkerClass, type WorkerContext } from "./worker.ts";
export { WorkerGroup, type GroupMethods, type GroupOf, type WorkerGroupOptions } from "./worker-group.ts";
