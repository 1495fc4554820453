interface Answer {
  solution_str: string;
  ground_truth: string;
}

/** 1 where the last answer of the conversation is right. */
export const compute_score = ({ solution_str, ground_truth }: Answer): number =>
  solution_str.endsWith(ground_truth) ? 1 : 0;
