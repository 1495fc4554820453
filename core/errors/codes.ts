/** Whose fault an error is; it decides what a terminal shows of its stack. */
export type Blame = "user" | "plugin" | "host";

/** A row of the table. */
export interface CodeEntry {
  readonly blame: Blame;
  /**
   * `start`: what a command was given (line, config, plugins, data, model) is wrong, and nothing was begun; it exits with 2. `run`: the
   * work itself failed; it exits with 1. Default: `start` where the user is to blame, `run` where a plugin or the host is.
   */
  readonly found?: "start" | "run";
  /** When it is raised, in one sentence; the docs page of error codes is generated from this. */
  readonly when: string;
}

/** Every code that the project raises, sorted. A meta-test keeps this table, the docs and the raising code in step. */
export const ERROR_CODES = {
  VERL_AGENT_FILE: {
    blame: "user",
    when: "A YAML file of tools, interactions or agent loops is missing, does not parse, or lacks a field, has one that means nothing, or gives two entries one name.",
  },
  VERL_AGENT_FUNCTION: {
    blame: "user",
    when: "An agent's file is missing, does not load or exports no such function, or its agent leaves nothing to train on.",
  },
  VERL_AGENT_INTERACTION: {
    blame: "user",
    when: "A row names an interaction that the run does not have, or lacks what the interaction needs.",
  },
  VERL_AGENT_LOOP_FAILED: {
    blame: "plugin",
    when: "A whole step's generation failed: no prompt had an answer after all retries.",
  },
  VERL_AGENT_PORT: {
    blame: "user",
    when: "The port that a gateway is to listen on is in use, or not the user's to take.",
  },
  VERL_AGENT_REWARD: {
    blame: "plugin",
    when: "A tool, an interaction or an agent gives something as a reward that is no finite number.",
  },
  VERL_AGENT_TEMPLATE_DRIFT: {
    blame: "user",
    found: "run",
    when: "A chat template rewrites earlier turns of a conversation when one is added, and the run is told to fail then; or it shows nothing of an answer that messages follow.",
  },
  VERL_AGENT_TOOL: {
    blame: "user",
    when: "Tools of a run have no name or the same name, a schema that is none, or a row or an option selects one that there is not, or a row's arguments for one are no object.",
  },
  VERL_AGENT_TOOL_FORMAT: {
    blame: "user",
    when: "The tool parser `auto` has no model, or does not know the format that the model's chat template writes calls in.",
  },
  VERL_AGENT_TOOL_PARSER: {
    blame: "plugin",
    when: "A tool parser gives another result when an answer comes in pieces.",
  },
  VERL_AGENT_TRAJECTORY: {
    blame: "plugin",
    when: "An agent loop returned a trajectory whose tokens, log-probs and masks do not belong together.",
  },
  VERL_ALGORITHM_CONFIG: {
    blame: "user",
    when: "An option of a loss or an estimator lies outside what its formula allows.",
  },
  VERL_ALGORITHM_GROUP: {
    blame: "user",
    found: "run",
    when: "An estimator needs several answers a prompt, and a prompt has one.",
  },
  VERL_ALGORITHM_LOG_PROB: {
    blame: "host",
    when: "A log-probability that rollout correction compares is not finite at an unmasked token.",
  },
  VERL_ALGORITHM_MASK: { blame: "plugin", when: "A response mask holds something else than 0 and 1." },
  VERL_ALGORITHM_NOT_FINITE: {
    blame: "plugin",
    when: "A reward, a value or a return is NaN or infinite at an unmasked token of a scored row.",
  },
  VERL_ALGORITHM_SHAPE: {
    blame: "plugin",
    when: "A loss matrix or a field of an estimator has another shape than the response mask.",
  },
  VERL_BACKEND_INSTALL: {
    blame: "host",
    when: "A tensor backend could not be installed: a package, a library or a compiler is missing, or a step failed.",
  },
  VERL_BACKEND_REQUEST: {
    blame: "user",
    when: "A tensor backend has nothing to install, or not from that source or to that folder.",
  },
  VERL_BATCH_ARGUMENT: {
    blame: "plugin",
    when: "A method of a batch was called with options of another form, or another name, than it takes.",
  },
  VERL_BATCH_ARROW: {
    blame: "host",
    when: "Bytes are not an Arrow stream that holds a batch, or a batch holds a value that Arrow and JSON have no place for.",
  },
  VERL_BATCH_BALANCE: {
    blame: "user",
    found: "run",
    when: "Rows cannot be spread as asked: fewer rows than parts, or one row longer than the token limit.",
  },
  VERL_BATCH_CONFLICT: { blame: "plugin", when: "Two batches hold different values under one key." },
  VERL_BATCH_FIELD_MISSING: {
    blame: "plugin",
    when: "A batch lacks a field, column or metaInfo key that was asked for.",
  },
  VERL_BATCH_FIELD_TYPE: { blame: "plugin", when: "A batch field has another element type than is needed." },
  VERL_BATCH_INDEX: {
    blame: "plugin",
    when: "A row number lies outside the batch, or an order does not name each row once.",
  },
  VERL_BATCH_SHAPE: { blame: "plugin", when: "Arrays or batches do not fit together: extents or row counts differ." },
  VERL_BATCH_SPLIT: { blame: "plugin", when: "A batch cannot be cut, folded or repeated by the number given." },
  VERL_CHECKPOINT_CORRUPT: {
    blame: "user",
    found: "run",
    when: "A file of a checkpoint is missing or differs from the hash in its manifest, or the manifest itself is damaged.",
  },
  VERL_CHECKPOINT_FORMAT: {
    blame: "user",
    found: "run",
    when: "A checkpoint was written by a newer version of the package, in a format that this one cannot read.",
  },
  VERL_CHECKPOINT_MISSING: {
    blame: "user",
    when: "The checkpoint to resume from does not exist or was never completed.",
  },
  VERL_CHECKPOINT_STATE: {
    blame: "plugin",
    when: "A state handed to the checkpoint cannot be kept as JSON or arrays without loss.",
  },
  VERL_CHECKPOINT_WRITE: {
    blame: "user",
    found: "run",
    when: "A checkpoint could not be written: a full disk, a size limit, a missing permission.",
  },
  VERL_CLI_FILE: {
    blame: "user",
    when: "A file named on the command line cannot be read or written, or holds something else.",
  },
  VERL_CLI_WRITE: {
    blame: "user",
    found: "run",
    when: "A file named on the command line took no more when the work was done, for example because the disk is full.",
  },
  VERL_CONFIG_BATCH_SIZE: {
    blame: "user",
    when: "Batch sizes of the config do not divide or fit each other; the message has the nearest sizes that do.",
  },
  VERL_CONFIG_CYCLE: {
    blame: "user",
    when: "Interpolations of the config, or files that build upon each other, form a circle.",
  },
  VERL_CONFIG_FILE: {
    blame: "user",
    when: "A config file is missing, is not valid YAML, or names a file that is missing.",
  },
  VERL_CONFIG_INTERPOLATION: {
    blame: "user",
    when: "A `${…}` in the config names a key or an environment variable that does not exist.",
  },
  VERL_CONFIG_INVALID: { blame: "user", when: "A config has several problems; `details.problems` holds each of them." },
  VERL_CONFIG_KEY_UNKNOWN: { blame: "user", when: "A config file or override has a key that does not exist." },
  VERL_CONFIG_MISSING: {
    blame: "user",
    when: "A run was not told what to train: its data or its model is not set, and its default does not exist.",
  },
  VERL_CONFIG_OVERRIDE: {
    blame: "user",
    when: "A command-line override is not in the override grammar, or adds, changes or removes what it cannot.",
  },
  VERL_CONFIG_VALUE: {
    blame: "user",
    when: "A config value has the wrong type, lies outside of its range, or contradicts another value.",
  },
  VERL_CONTROLLER_LISTEN: {
    blame: "user",
    when: "The controller cannot listen on the address that its ranks are to reach it at.",
  },
  VERL_CONTROLLER_POOL: {
    blame: "user",
    when: "A resource pool was asked for places that it cannot have, or that its transport does not have in time.",
  },
  VERL_CONTROLLER_PROTOCOL: {
    blame: "host",
    when: "A message between the controller and a rank was damaged, or of another version.",
  },
  VERL_DATA_CHAT_TEMPLATE: {
    blame: "user",
    when: "A chat template is missing, does not parse, or refuses the messages of a row.",
  },
  VERL_DATA_COLUMN_MISSING: { blame: "user", when: "A dataset file lacks a column that the run reads." },
  VERL_DATA_COLUMN_TYPE: {
    blame: "user",
    when: "A column of a dataset file holds a value of another type than the run reads.",
  },
  VERL_DATA_CUSTOM_CLASS: {
    blame: "user",
    when: "A file that the config names for a dataset, a sampler or a generator does not load, or has no such class.",
  },
  VERL_DATA_EMPTY: {
    blame: "user",
    when: "A dataset has no rows, or none is left after filtering, or fewer than one batch.",
  },
  VERL_DATA_FILE_CORRUPT: { blame: "user", when: "A dataset file cannot be parsed as what its name says it is." },
  VERL_DATA_FILE_FORMAT: { blame: "user", when: "A dataset file has an extension that no reader exists for." },
  VERL_DATA_FILE_MISSING: { blame: "user", when: "A dataset file does not exist or cannot be opened." },
  VERL_DATA_GROUND_TRUTH: {
    blame: "user",
    when: "A row lacks the ground truth that its score function compares with, or that other rows of its data source have.",
  },
  VERL_DATA_LOADER_STATE: {
    blame: "user",
    when: "A saved position of the data loader does not fit the dataset that should resume from it.",
  },
  VERL_DATA_MAPPING: { blame: "user", when: "A mapping of `verl data convert` cannot be read, or does not fit a row." },
  VERL_DATA_PROBLEMS: { blame: "user", when: "`verl data check` found errors in the data; the report lists them." },
  VERL_DATA_PROMPT_EMPTY: {
    blame: "user",
    when: "A row's prompt has no token once it has gone through the chat template.",
  },
  VERL_DATA_PROMPT_TOO_LONG: {
    blame: "user",
    when: "A prompt or conversation is longer than its limit, and `truncation` is `error`.",
  },
  VERL_DATA_SAMPLER: { blame: "plugin", when: "A sampler left out or repeated a row." },
  VERL_DATA_TEMPLATE_DRIFT: {
    blame: "user",
    when: "A chat template rewrites earlier messages when one is added, so no token can be given to one message.",
  },
  VERL_DATA_TOKENIZER: { blame: "user", when: "The tokenizer files of a model folder are missing or cannot be read." },
  VERL_DATA_UNENCODABLE: { blame: "user", when: "A text holds a character that the tokenizer has no token for." },
  VERL_DISPATCH_ARGUMENTS: {
    blame: "plugin",
    when: "A worker group was called with arguments that its dispatch mode cannot spread over the ranks.",
  },
  VERL_DOCTOR_FAILED: {
    blame: "user",
    found: "run",
    when: "`verl doctor` found something that keeps runs from working; its report says what.",
  },
  VERL_ENGINE_BATCH: {
    blame: "host",
    when: "A batch handed to an engine lacks a field, or holds token ids or masks that the model cannot read.",
  },
  VERL_ENGINE_LOSS_CONSTANT: {
    blame: "plugin",
    when: "A loss does not depend on what the model computed, so it has no gradient.",
  },
  VERL_ENGINE_NOT_FINITE: {
    blame: "plugin",
    when: "A loss, one of its inputs or a sampled log-prob is NaN or infinite; the weights were left as they were.",
  },
  VERL_ENGINE_STATE: { blame: "user", when: "A saved engine state does not fit the model that should resume from it." },
  VERL_ENTRY_FAILED: {
    blame: "plugin",
    when: "A function or method of an entry threw while it was used; the message names kind, key and package.",
  },
  VERL_ENTRY_META_INVALID: {
    blame: "plugin",
    found: "start",
    when: "An entry lacks its description, or a function or method of its kind, or misspells a field.",
  },
  VERL_ENTRY_SCHEMA_INVALID: {
    blame: "plugin",
    found: "start",
    when: "An entry's options schema does not compile as JSON Schema draft-07 or breaks the rules for it.",
  },
  VERL_FIELD_MISSING: {
    blame: "user",
    when: "An entry requires a batch field that the run will not have, or was called without it.",
  },
  VERL_INJECT_FAILED: { blame: "plugin", found: "start", when: "The constructor of an extension class threw." },
  VERL_INJECT_UNRESOLVED: {
    blame: "plugin",
    found: "start",
    when: "A constructor parameter of an extension class has no `@inject`, or asks for a value that the run does not have.",
  },
  VERL_INTERNAL: { blame: "host", when: "An invariant of the host broke; please report it." },
  VERL_KIND_UNKNOWN: { blame: "user", when: "A name is not one of the extension kinds." },
  VERL_METRIC_REDUCTION: {
    blame: "plugin",
    when: "One metric was added twice in a step with two different reductions.",
  },
  VERL_MODEL_CONFIG: {
    blame: "user",
    when: "A model's config.json misses a field, or holds a value or an architecture that the embedded engine does not have.",
  },
  VERL_MODEL_WEIGHTS: {
    blame: "user",
    when: "Weights do not fit the model: a name is missing or unknown, or a shape differs.",
  },
  VERL_OPTIONS_INVALID: { blame: "user", when: "Options of a chosen entry do not satisfy that entry's own schema." },
  VERL_PLUGIN_API_MISMATCH: { blame: "user", when: "A plugin was written for another version of this package." },
  VERL_PLUGIN_EXPORT: {
    blame: "plugin",
    found: "start",
    when: "A loaded module neither exports a plugin by default nor registers anything.",
  },
  VERL_PLUGIN_IMPORT: { blame: "plugin", found: "start", when: "The module of a plugin threw while it was imported." },
  VERL_PLUGIN_META: {
    blame: "plugin",
    found: "start",
    when: "A plugin's definition lacks a field, holds one of a wrong type, or has one that does not exist.",
  },
  VERL_PLUGIN_NOT_FOUND: { blame: "user", when: "A package or file listed under `plugins:` does not exist." },
  VERL_PLUGIN_OWN_COPY: {
    blame: "plugin",
    found: "start",
    when: "A plugin would load another copy of tfjs or tsyringe than this package does.",
  },
  VERL_RAY_CLUSTER: {
    blame: "user",
    found: "run",
    when: "A Ray cluster cannot be reached, or does not run what it is given; or it was lost.",
  },
  VERL_RAY_CONFIG: {
    blame: "user",
    when: "`controller.ray` names no cluster, or half a certificate, or files that hold no certificate and its key.",
  },
  VERL_REGISTRY_FROZEN: { blame: "plugin", when: "An entry was registered while a run was under way." },
  VERL_REGISTRY_KEY_INVALID: {
    blame: "plugin",
    found: "start",
    when: "An entry was registered under a name that is not a well-formed key.",
  },
  VERL_REGISTRY_KEY_TAKEN: {
    blame: "plugin",
    found: "start",
    when: "Two different entries were registered under one key.",
  },
  VERL_REGISTRY_KEY_UNKNOWN: {
    blame: "user",
    when: "A config value or argument names an entry that nothing has registered.",
  },
  VERL_REPORT_RUN: { blame: "user", when: "The directory given to `verl report` holds no metrics of a run." },
  VERL_REWARD_FUNCTION_EXPORT: {
    blame: "user",
    when: "A reward file does not export a function of the configured name.",
  },
  VERL_REWARD_FUNCTION_FILE: {
    blame: "user",
    when: "The file of `custom_reward_function.path` is missing or does not load.",
  },
  VERL_REWARD_NO_FUNCTION: {
    blame: "user",
    when: "No score function is configured and none is registered for a row's data source.",
  },
  VERL_REWARD_POOL: {
    blame: "user",
    when: "A process or thread for score functions did not start, or could not load the plugins or functions.",
  },
  VERL_REWARD_RESULT: {
    blame: "plugin",
    when: "A reward manager, or a score function for whole batches, returned another number of results than it was given rows.",
  },
  VERL_REWARD_UNSCORED: {
    blame: "user",
    found: "run",
    when: "A larger share of a batch than `reward_model.max_unscored_fraction` has no score.",
  },
  VERL_RNG_STATE: {
    blame: "user",
    found: "run",
    when: "A saved state of a random stream is not four 32-bit integers.",
  },
  VERL_ROLLOUT_REQUEST: {
    blame: "user",
    found: "run",
    when: "A generation request has an empty or too long prompt, an unknown token or sampling parameters out of range.",
  },
  VERL_SAFETENSORS_FORMAT: {
    blame: "user",
    when: "A safetensors file is cut short, or its header contradicts its size.",
  },
  VERL_TENSOR_BACKEND_UNAVAILABLE: {
    blame: "user",
    when: "The configured tensor backend, or every one, cannot run on this machine.",
  },
  VERL_TENSOR_DEVICE_LOST: {
    blame: "user",
    found: "run",
    when: "A GPU was lost or reported an error, such as too little memory; tensors on it have no values any more.",
  },
  VERL_TENSOR_DTYPE: { blame: "plugin", when: "A tensor has a dtype that the tensor backend cannot hold." },
  VERL_TENSOR_GRAPH: {
    blame: "plugin",
    when: "A recorded graph does not compile or fails while it runs, for example on an index out of range.",
  },
  VERL_TENSOR_SHAPE: { blame: "plugin", when: "Inputs of a kernel do not fit together." },
  VERL_TENSOR_SYNC_READ: {
    blame: "plugin",
    when: "A tensor on a GPU is read synchronously, by `dataSync` or `arraySync`.",
  },
  VERL_TESTING_CASES: {
    blame: "plugin",
    when: "The golden cases that a plugin's author gives the conformance kit are missing, repeat each other, mask every token, or expect nothing or nothing but zeros.",
  },
  VERL_TESTING_PROPERTY: {
    blame: "plugin",
    when: "The conformance kit found an input for which an entry does not do what every entry of its kind must.",
  },
  VERL_TESTING_SETUP: {
    blame: "plugin",
    when: "The conformance kit has no test runner, or is told of a field or an exception that it does not know.",
  },
  VERL_TRACE_BACKEND: { blame: "user", when: "The backend of rollout traces needs a package that is not installed." },
  VERL_TRAIN_DIRECTORY: {
    blame: "user",
    when: "The directory of a run, `trainer.default_local_dir`, cannot be made or written to.",
  },
  VERL_TRAIN_DIRECTORY_BUSY: { blame: "user", when: "Another run is under way in the run's directory." },
  VERL_TRAIN_GROUPS_EXHAUSTED: {
    blame: "user",
    found: "run",
    when: "Dynamic sampling (`algorithm.filter_groups`) found too few groups with differing answers in as many batches as it may take.",
  },
  VERL_TRAIN_NEEDS_GROUPS: {
    blame: "user",
    when: "An advantage estimator that compares the answers to a prompt meets `rollout.n: 1`.",
  },
  VERL_TRAIN_UNAVAILABLE: {
    blame: "user",
    when: "The config asks for a part of training that this version does not have.",
  },
  VERL_VALIDATION_INFOS: {
    blame: "host",
    when: "Validation results do not have one value a sample for every variable.",
  },
  VERL_WORKER_ARGUMENT: {
    blame: "plugin",
    when: "A worker group was to be made of something else than it is made of: no worker class, a misspelt option, a transport that is none.",
  },
  VERL_WORKER_DIED: {
    blame: "plugin",
    when: "A rank of a worker group is gone: it exited, was killed, or gave no sign of life for too long.",
  },
  VERL_WORKER_ENV: {
    blame: "plugin",
    when: "The environment of a worker group sets variables that the transport sets itself, or to what is no text.",
  },
  VERL_WORKER_FAILED: {
    blame: "host",
    when: "A worker threw while it ran a call of its group; the message names rank and method.",
  },
  VERL_WORKER_MESH: {
    blame: "plugin",
    when: "A worker was asked for its place in a device mesh that it does not stand in, or was given two; or the places of all leave shares out or give one twice.",
  },
  VERL_WORKER_METHOD_TAKEN: {
    blame: "plugin",
    when: "A registered worker method has a name that every worker group uses itself.",
  },
  VERL_WORKER_METHOD_UNKNOWN: {
    blame: "plugin",
    when: "A worker group was asked for a method that its class does not register.",
  },
  VERL_WORKER_MODULE: {
    blame: "plugin",
    when: "A worker class cannot be found by another thread or process, or its module starts worker groups when a rank imports it.",
  },
  VERL_WORKER_PAYLOAD: {
    blame: "plugin",
    when: "An argument or a result of a worker call cannot cross to another thread or process, or is too large for one message.",
  },
  VERL_WORKER_REGISTER: {
    blame: "plugin",
    when: "The `@register` of a worker's method stands without parentheses, or is given what it does not take.",
  },
} as const satisfies Record<string, CodeEntry>;

/** Any code of the table. */
export type ErrorCode = keyof typeof ERROR_CODES;
