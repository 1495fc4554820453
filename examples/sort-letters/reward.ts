interface Answer {
  solution_str: string;
  ground_truth: string;
  extra_info: { stop_reason?: string };
}

/** 1 for exactly the sorted letters, ended in time; else 0. */
export function compute_score({ solution_str, ground_truth, extra_info }: Answer): number {
  return extra_info.stop_reason === "stop" && solution_str === ground_truth ? 1 : 0;
}
