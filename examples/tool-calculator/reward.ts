interface Answer {
  solution_str: string;
  ground_truth: string;
  extra_info: { stop_reason?: string };
}

/**
 * 1 for `=` and the right sum, ended in time, after at most one call; else 0. Nothing is given for calling. `called` and `right_call` tell
 * how often the tool is used, and do not count.
 */
export function compute_score({ solution_str, ground_truth, extra_info }: Answer) {
  const calls = solution_str.split("<tool_call>").length - 1;
  const answer = solution_str.split("</tool_response>").at(-1);
  const right = extra_info.stop_reason === "stop" && calls <= 1 && answer === `=${ground_truth}`;
  return {
    score: right ? 1 : 0,
    called: calls > 0,
    right_call: solution_str.includes(`<tool_response>${ground_truth}</tool_response>`),
  };
}
