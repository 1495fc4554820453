import { freeMap, number, section, text, texts } from "./field.ts";

/** Keys of `controller` that every config has. */
const controllerKeys = {
  transport: text(
    "Key of the `transport` registry. `inline`: all ranks in the trainer's own thread; `thread`: each in a thread of its own; `ray`: each in a process on a Ray cluster.",
    "inline",
    { "x-departure": "Not in verl, where it is always Ray." },
  ),
  start_timeout_s: number("Seconds that the start may wait for resources and for all ranks to be ready.", 300, {
    exclusiveMinimum: 0,
    "x-departure": "Not in verl, which waits without end.",
  }),
  silence_timeout_s: number(
    "Seconds without a sign of life after which a rank is given up. Longer than any computation that keeps a rank from its event loop.",
    300,
    { exclusiveMinimum: 0, "x-departure": "Not in verl." },
  ),
  ray: section("The cluster of the transport `ray`.", {
    address: text(
      "The cluster's `host:port` as `ray start` prints it, for a run on one of its machines, or the URL of its job API (`http://host:8265`); null: `RAY_ADDRESS`.",
      null,
      { "x-departure": "Not in verl, whose program is itself started in the cluster." },
    ),
    host: text("Address of this machine that the cluster reaches; null: the one on the way to the cluster.", null, {
      "x-departure": "Not in verl.",
    }),
    port: number("Port of this machine that the ranks connect to; 0: any.", 0, {
      minimum: 0,
      maximum: 65535,
      "x-departure": "Not in verl.",
    }),
    python: text("Command of the Python that has `ray`, on the machine that the driver runs on.", "python3", {
      "x-departure": "Not in verl.",
    }),
    tls_cert: text("PEM file of a certificate, for TLS between ranks and controller; null: no TLS.", null, {
      "x-departure": "Not in verl.",
    }),
    tls_key: text("PEM file of the certificate's private key.", null, { "x-departure": "Not in verl." }),
  }),
};

/** Keys of ours at the root of every config. */
export const host = {
  plugins: texts("Plugins to load: package names, or paths of .ts or .js files.", [], {
    "x-departure": "Not in verl.",
  }),
  tensor_backend: text(
    "Key of the `tensor_backend` registry; null: the best that runs here for `trainer.device`.",
    null,
    {
      "x-departure": "Not in verl.",
    },
  ),
  tensor_adapter: text("Part of the name of the GPU that `webgpu` takes; null: the system's first choice.", null, {
    "x-departure": "Not in verl.",
  }),
  controller: section("How the trainer calls its workers.", controllerKeys),
};

/** The same for `verl train`, whose roles may stand apart. */
export const ppoController = section("How the trainer calls its workers, and where they stand.", {
  ...controllerKeys,
  resource_pool_spec: freeMap(
    "Further pools of ranks, each with its ranks on each machine: `{critic_pool: [1]}`. Not in verl's config, but in its main program.",
  ),
  role_mapping: section("The pool of each role that need not stand with the actor.", {
    ref: text("Pool of the reference.", "actor_pool", { "x-departure": "Not in verl's config." }),
    critic: text("Pool of the critic.", "actor_pool", { "x-departure": "Not in verl's config." }),
    reward: text("Pool whose first rank scores the answers.", "reward_pool", {
      "x-departure": "Not in verl's config.",
    }),
  }),
});
