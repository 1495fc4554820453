import { AGENT_PARTS, AgentParts } from "../agent/agent-parts.ts";
import type { PpoConfig, SftConfig } from "../config/index.ts";
import type { Tokenizer } from "../data/tokenizer.ts";
import {
  ABORT_SIGNAL,
  CONFIG,
  createRunContainer,
  LOGGER,
  METRICS,
  RNG,
  TOKENIZER,
  type Logger,
  type MetricsSink,
  type RunContainer,
} from "../registry/index.ts";
import { loadScoreFunctions, SCORE_FUNCTIONS } from "../reward/score-functions.ts";
import { createRng, type Rng } from "../tensor/rng.ts";
import type { RunEnd } from "./run-end.ts";
import { loadRunTokenizer } from "./run-tokenizer.ts";

/** What the parts of a run share in one thread: its container and what that gives to plugins. */
export interface RunSite {
  readonly container: RunContainer;
  readonly tokenizer: Tokenizer;
  readonly rng: Rng;
  readonly log: Logger;
  readonly metrics: MetricsSink;
}

/** The site of an RL run. */
export interface PpoSite extends RunSite {
  readonly agents: AgentParts;
}

export interface SiteOptions {
  /** Folder from which the path of a reward file starts. */
  directory: string;
  log: Logger;
  metrics: MetricsSink;
  /** Its signal is what plugins are given; what the site holds open is closed then. */
  end: RunEnd;
}

/** Reads what an RL run needs besides its data and models; each thread of a run has its own. */
export async function openPpoSite(config: PpoConfig, options: SiteOptions): Promise<PpoSite> {
  const { trainer, custom_reward_function } = config;
  const tokenizer = await loadRunTokenizer(config);
  const site = openSite(config, tokenizer, trainer.seed, options);
  const { container } = site;
  const agents = new AgentParts(container, config, options.log);
  container.bind({
    [SCORE_FUNCTIONS]: await loadScoreFunctions(custom_reward_function, options.directory),
    [AGENT_PARTS]: agents,
  });
  options.end.add(() => agents.close());
  return { ...site, agents };
}

/** The same for supervised training. */
export async function openSftSite(config: SftConfig, options: SiteOptions): Promise<RunSite> {
  const tokenizer = await loadRunTokenizer(config);
  return openSite(config, tokenizer, config.trainer.seed, options);
}

function openSite(
  config: PpoConfig | SftConfig,
  tokenizer: Tokenizer,
  seed: number,
  { log, metrics, end }: SiteOptions,
): RunSite {
  const rng = createRng(seed);
  const container = createRunContainer({
    [CONFIG]: config,
    [LOGGER]: log,
    [RNG]: rng,
    [TOKENIZER]: tokenizer,
    [METRICS]: metrics,
    [ABORT_SIGNAL]: end.signal,
  });
  return { container, tokenizer, rng, log, metrics };
}
