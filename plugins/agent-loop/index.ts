import { provide } from "verl";
import { SingleTurnAgentLoop } from "./single-turn.ts";

export const agentLoops = [
  provide("agent_loop", "single_turn_agent", {
    description: "One generation a prompt, at most `rollout.response_length` tokens long.",
    departures: [
      "The limit is the response's own; verl lets a short prompt generate more and cuts the tail, the end token included.",
    ],
    create: SingleTurnAgentLoop,
  }),
];
