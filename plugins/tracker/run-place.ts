/** What trackers read of the config; PPO and SFT trees both have it. */
export interface RunPlace {
  readonly trainer: {
    readonly project_name: string;
    readonly experiment_name: string;
    /** The run's directory. */
    readonly default_local_dir: string;
  };
}
