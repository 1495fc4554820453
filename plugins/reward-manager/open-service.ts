import { JsonClient, ServiceCalls, VerlError, type Logger, type MetricsSink } from "verl";
import type { EndpointSettings, LimitSettings } from "./service-options.ts";

export const serviceCalls = (options: LimitSettings, metrics: MetricsSink): ServiceCalls =>
  new ServiceCalls(
    {
      maxConcurrent: options.max_concurrent,
      maxRpm: options.max_rpm,
      maxTpm: options.max_tpm,
      attempts: options.attempts,
      backoffS: options.backoff_s,
      maxBackoffS: options.max_backoff_s,
    },
    metrics,
  );

/** Posts a body that costs about so many tokens, under the limits. @returns the answer's JSON. @throws ServiceError; the reason of `signal`. */
export type Post = (body: unknown, tokens: number, signal?: AbortSignal) => Promise<unknown>;

/** @param url of the requests, the endpoint's or one below it. @throws VERL_OPTIONS_INVALID where its token is not set. */
export function openService(
  url: string,
  options: LimitSettings & EndpointSettings,
  log: Logger,
  metrics: MetricsSink,
): Post {
  const { timeout, max_response_mb } = options;
  const calls = serviceCalls(options, metrics);
  const client = new JsonClient({
    url,
    token: tokenOf(options, log),
    timeoutS: timeout,
    maxBytes: max_response_mb * 2 ** 20,
  });
  return (body, tokens, signal) => calls.run(tokens, () => client.post(body, signal), signal);
}

/** The token of the environment. */
function tokenOf({ token_env, url }: EndpointSettings, log: Logger): string | undefined {
  if (token_env === null) return undefined;
  const token = process.env[token_env];
  if (token === undefined || token === "") {
    const path = "reward_model.reward_kwargs.token_env";
    throw new VerlError(
      "VERL_OPTIONS_INVALID",
      `The environment has no variable ${token_env}, which \`${path}\` names.`,
      {
        location: { path },
        hint: `Set it before the run: export ${token_env}=…`,
      },
    );
  }
  const { protocol, hostname } = new URL(url);
  if (protocol === "http:" && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
    log.warnOnce(
      `token-in-clear ${hostname}`,
      `The token of ${token_env} goes to ${hostname} unencrypted; https:// would hide it.`,
    );
  return token;
}
