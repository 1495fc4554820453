import { provide } from "verl";
import { GatewayAgentLoop } from "./gateway-agent.ts";
import { SingleTurnAgentLoop } from "./single-turn.ts";
import { ToolAgentLoop } from "./tool-agent.ts";

export const agentLoops = [
  provide("agent_loop", "gateway_agent", {
    description:
      "An agent of your own, an async function `(task, { baseURL, apiKey })` that talks to the policy as to OpenAI's API; what it samples is trained on.",
    optionsSchema: {
      type: "object",
      properties: {
        path: {
          type: "string",
          format: "file",
          description: "The agent's .ts or .js file; a relative path starts at the working directory.",
        },
        function: { type: "string", default: "run", description: "Name of the exported function." },
        branches: {
          enum: ["longest", "last", "fail"],
          default: "longest",
          description:
            "Which conversation is trained on when the agent has several: the one with the most sampled tokens, the last one, or none: the sample fails.",
        },
        max_requests: { type: "integer", minimum: 1, default: 1000, description: "Requests that one sample may make." },
      },
      required: ["path"],
      additionalProperties: false,
    },
    metrics: {
      "agent_loop/gateway_aborted_requests_count": "Requests whose answer nobody waited for.",
      "agent_loop/gateway_branches": "Conversations a sample, on average.",
      "agent_loop/gateway_calls_left_out_count":
        "Calls that the agent did not get, as it asked for one at a time (`parallel_tool_calls: false`); what was sampled stays.",
      "agent_loop/gateway_dropped_branches_count": "Conversations that are not trained on.",
      "agent_loop/gateway_dropped_tokens_count": "Sampled tokens that are not trained on.",
      "agent_loop/gateway_failed_requests_count": "Requests that ended with an error.",
      "agent_loop/gateway_forms_not_enforced_count":
        "Requests for a form of answer (response_format, tool_choice, …) that the policy was not held to.",
      "agent_loop/gateway_history_breaks_count":
        "Requests after a sample's first answer that go on from none, or from one with rewritten answers behind it: the agent rewrote its messages, offered other tools, or began a task of its own.",
      "agent_loop/gateway_requests": "Requests a sample, on average.",
      "agent_loop/gateway_sampling_overridden_count":
        "Requests for another sampling (temperature, seed, penalties, …); the run's own is kept.",
      "agent_loop/gateway_stray_errors_count":
        "Errors that nobody caught, of promises, timers and sockets that agents left to themselves.",
      "agent_loop/gateway_template_variables_count":
        "Requests with variables of their own for the chat template (chat_template_kwargs, reasoning_effort).",
      "agent_loop/gateway_unknown_fields_count": "Requests with fields that the gateway does not know and ignores.",
      "agent_loop/invalid_calls_count": "Stretches of answers that look like calls and are none.",
    },
    create: GatewayAgentLoop,
  }),
  provide("agent_loop", "single_turn_agent", {
    description: "One generation a prompt, at most `rollout.response_length` tokens long.",
    departures: [
      "The limit is the response's own; verl lets a short prompt generate more and cuts the tail, the end token included.",
    ],
    create: SingleTurnAgentLoop,
  }),
  provide("agent_loop", "tool_agent", {
    description:
      "Conversations of several turns: calls are parsed and run by the tools of `multi_turn.tool_config_path`, a simulated user answers where one is configured.",
    metrics: {
      "agent_loop/calls_not_run_count":
        "Calls after the last user turn that is allowed, and those of an answer that the length cut off.",
      "agent_loop/finalize_failed_count": "Interactions that threw or took too long when they were to finish.",
      "agent_loop/invalid_calls_count": "Calls that could not be read, of no tool, or with arguments that do not fit.",
      "agent_loop/release_failed_count":
        "Instances of tools that threw or took too long when they were to be released.",
      "agent_loop/results_not_shown_count": "Tool results and user messages that did not fit the response any more.",
      "agent_loop/template_drift":
        "Share of the conversations looked at (one in 64, or all where drift matters) whose history the chat template rewrote.",
      "agent_loop/tool_errors_count": "Calls that threw or took too long.",
      "agent_loop/tool_reward_failed_count":
        "Instances of tools whose `calcReward` threw or took too long; they have no reward in `tool_session_rewards`.",
    },
    departures: [
      "Calls of the last assistant turn are run, and a simulated user scores that turn; verl drops both.",
      "All calls of a turn are run, `max_parallel_calls` at once; verl runs so many and drops the others.",
      "Calls that cannot be read are answered by an error message; verl ends the conversation.",
      "Each generation may have what is left of the response; verl lets it run on and cuts it.",
      "What does not fit the response is not appended, users' messages like tool results; verl appends those whatever their length.",
      "An empty generation ends with an empty response; in verl the prompt becomes the response.",
      "Tools and interactions are constructed once a run and finished always; verl makes them anew for each sample and never finishes interactions.",
      "An instance of a tool lives as long as its sample; in verl, as one call.",
      "Results are appended by template difference to an answer with the same calls; verl templates them without what comes before.",
    ],
    create: ToolAgentLoop,
  }),
];
