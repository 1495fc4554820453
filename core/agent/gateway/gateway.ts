import { createHash, randomBytes, randomUUID, timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { ChatTemplateOptions, Tokenizer } from "../../data/tokenizer.ts";
import { VerlError } from "../../errors/index.ts";
import type { ToolParser } from "../tool-parser.ts";
import { TurnTokens } from "../turn-tokens.ts";
import { ApiError, apiErrorOf } from "./api-error.ts";
import { readChatRequest, readCompletionRequest, type ChatRequest, type CompletionRequest } from "./chat-request.ts";
import { Gatherer } from "./gather.ts";
import { GatewaySession, type ModelFormat, type SessionOptions } from "./gateway-session.ts";
import { chatChunks, chatCompletion, textChunks, textCompletion, type ResponseHead } from "./openai-answer.ts";
import type { GenerationRequest } from "./generation-request.ts";
import { readJsonBody } from "./read-body.ts";
import type { Fields } from "./request-fields.ts";
import { event, stream } from "./server-sent-events.ts";

export interface GatewayOptions {
  tokenizer: Tokenizer;
  /** Reads the calls of answers; asked for when the first request with tools comes. */
  parser: () => ToolParser;
  /** Further variables of the chat template: `data.apply_chat_template_kwargs`. */
  templateVariables?: ChatTemplateOptions;
  /** Name that `/v1/models` gives. Default: `policy`. */
  model?: string;
  /** 0: any that is free. */
  port?: number;
  limits?: Partial<GatewayLimits>;
}

/** What one connection may take. */
export interface GatewayLimits {
  /** Time for a request's headers, in ms: who is slower holds a connection for nothing. Default: 10 s. */
  headersTimeout: number;
  /** Time for all of a request, its body included, in ms. Default: 60 s. */
  requestTimeout: number;
  /** Bytes of a body. Default: 16 MiB, far more than any conversation that a model can read. */
  maxBytes: number;
}

/** How a client reaches a session. */
export interface GatewayAccess {
  session: GatewaySession;
  /** `http://127.0.0.1:<port>/v1`. */
  baseURL: string;
  apiKey: string;
}

const HOST = "127.0.0.1";
const LIMITS: GatewayLimits = { headersTimeout: 10_000, requestTimeout: 60_000, maxBytes: 16 * 1024 * 1024 };
const MAX_HEADER_BYTES = 16 * 1024;
/** Sets of tools and variables whose templates are remembered. */
const REMEMBERED = 64;

/** How long a session that ends waits for its clients to be told, in ms; a client may not read. */
const CLOSE_MS = 1000;

/** A session, and the answers that are under way in it. */
interface Held {
  session: GatewaySession;
  secret: Buffer;
  responses: Set<ServerResponse>;
}

type Send = (status: number, body: object, headers?: OutgoingHttpHeaders) => void;

/** A request of one session, and ways to answer it. */
interface Asking {
  request: IncomingMessage;
  response: ServerResponse;
  send: Send;
  session: GatewaySession;
  client: AbortController;
}

/** A kind of request for tokens: how its body is read, what answers it, and how answers are told whole or in pieces. */
interface Endpoint<R extends GenerationRequest, A> {
  /** Start of its answers' ids. */
  kind: string;
  read: (body: Fields) => R;
  ask: (session: GatewaySession, asked: R, client: AbortController) => Promise<A>;
  whole: (head: ResponseHead, answers: A, tokens?: Tokenizer) => object;
  chunks: (head: ResponseHead, answers: A, tokens: Tokenizer | undefined, asked: R) => Iterable<object>;
}

/**
 * An OpenAI-compatible server on loopback in front of rollout engines. Each session has a key of its own and an engine of its own choice;
 * the server runs while there is a session.
 */
export class Gateway {
  private readonly sessions = new Map<string, Held>();
  private readonly templates = new Map<string, TurnTokens>();
  private readonly format: ModelFormat;
  private readonly created = Math.floor(Date.now() / 1000);
  private readonly limits: GatewayLimits;
  private server: Promise<Server> | undefined;

  constructor(private readonly options: GatewayOptions) {
    const { parser } = options;
    const gatherer = new Gatherer();
    this.limits = { ...LIMITS, ...options.limits };
    this.format = {
      tokenizer: options.tokenizer,
      get parser() {
        return parser();
      },
      turnTokens: (request) => this.turnTokens(request),
      gather: () => gatherer.wait(),
    };
  }

  /** Begins a session. @throws VerlError VERL_AGENT_PORT where the port is in use */
  async open(options: SessionOptions): Promise<GatewayAccess> {
    const [id, secret] = [randomUUID(), randomBytes(24).toString("base64url")];
    const session = new GatewaySession(this.format, options);
    this.sessions.set(id, { session, secret: digest(secret), responses: new Set() });
    try {
      this.server ??= this.listen();
      const { port } = (await this.server).address() as AddressInfo;
      return { session, baseURL: `http://${HOST}:${port}/v1`, apiKey: `${id}.${secret}` };
    } catch (error) {
      this.server = undefined;
      this.sessions.delete(id);
      throw error;
    }
  }

  /**
   * Ends a session: what is under way is counted and told so; connections that have not ended a second later are cut off. With the last
   * session the server ends.
   */
  async close(session: GatewaySession): Promise<void> {
    session.close();
    for (const [id, held] of this.sessions) {
      if (held.session !== session) continue;
      this.sessions.delete(id);
      await allClosed(held.responses);
    }
    if (this.sessions.size > 0) return;
    const server = this.server;
    this.server = undefined;
    const running = await server;
    if (running === undefined) return;
    const closed = new Promise((resolve) => running.close(resolve));
    running.closeAllConnections();
    await closed;
  }

  private listen(): Promise<Server> {
    const { headersTimeout, requestTimeout } = this.limits;
    const connectionsCheckingInterval = Math.min(1000, headersTimeout);
    const server = createServer(
      { headersTimeout, requestTimeout, connectionsCheckingInterval, maxHeaderSize: MAX_HEADER_BYTES, noDelay: true },
      (request, response) => void this.serve(request, response),
    );
    const { port = 0 } = this.options;
    return new Promise((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        reject(PORT_TAKEN.has(error.code) ? taken(port, error) : error),
      );
      server.listen(port, HOST, () => resolve(server));
    });
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const client = new AbortController();
    response.once("close", () => client.abort());
    response.on("error", () => client.abort());
    const send: Send = (status, body, headers) => {
      if (response.destroyed || response.headersSent) return;
      const text = JSON.stringify(body);
      // The rest of a body that was not read is not waited for.
      const end = request.complete ? {} : { connection: "close" };
      response.writeHead(status, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(text),
        ...headers,
        ...end,
      });
      response.end(text);
    };
    try {
      await this.route(request, response, send, client);
    } catch (error) {
      const told = apiErrorOf(error);
      if (response.headersSent) response.end(event(told.body()));
      else send(told.status, told.body(), retryHeader(told));
    }
  }

  private async route(
    request: IncomingMessage,
    response: ServerResponse,
    send: Send,
    client: AbortController,
  ): Promise<void> {
    const { session, responses } = this.authorized(request.headers.authorization);
    responses.add(response);
    response.once("close", () => responses.delete(response));
    await session.counting(client, () => this.answered({ request, response, send, session, client }));
  }

  private async answered(asking: Asking): Promise<void> {
    const { request, send } = asking;
    const [path = ""] = (request.url ?? "").split("?");
    const { method = "" } = request;
    const model = this.options.model ?? "policy";
    const described = { id: model, object: "model", created: this.created, owned_by: "verl" };
    if (method === "GET" && path === "/v1/models") return send(200, { object: "list", data: [described] });
    if (method === "GET" && path.startsWith("/v1/models/"))
      return send(200, { ...described, id: modelOf(path.slice(11)) });
    if (method === "POST" && path === "/v1/chat/completions") return this.answer(asking, this.chat);
    if (method === "POST" && path === "/v1/completions") return this.answer(asking, this.completion);
    throw new ApiError(
      404,
      `There is no ${method} ${path}; /v1/chat/completions, /v1/completions and /v1/models are served.`,
    );
  }

  private readonly chat: Endpoint<ChatRequest, Awaited<ReturnType<GatewaySession["chat"]>>> = {
    kind: "chatcmpl",
    read: readChatRequest,
    ask: (session, asked, client) => session.chat(asked, client),
    whole: chatCompletion,
    chunks: (head, answers, tokens, { includeUsage }) => chatChunks(head, answers, { tokens, includeUsage }),
  };

  private readonly completion: Endpoint<CompletionRequest, Awaited<ReturnType<GatewaySession["complete"]>>> = {
    kind: "cmpl",
    read: readCompletionRequest,
    ask: (session, asked, client) => session.complete(asked, client),
    whole: textCompletion,
    chunks: (head, answers, tokens, { includeUsage }) => textChunks(head, answers, { tokens, includeUsage }),
  };

  /** Answers a request for tokens, whole or in pieces. */
  private async answer<R extends GenerationRequest, A>(
    { request, response, send, session, client }: Asking,
    { kind, read, ask, whole, chunks }: Endpoint<R, A>,
  ): Promise<void> {
    const asked = read(await readJsonBody(request, this.limits.maxBytes));
    const head = headOf(kind, asked.model);
    const tokens = asked.logprobs ? this.options.tokenizer : undefined;
    const answering = ask(session, asked, client);
    if (!asked.stream) return send(200, whole(head, await answering, tokens));
    await stream(response, answering, (answers) => chunks(head, answers, tokens, asked));
  }

  /** @throws ApiError 401 */
  private authorized(header: string | undefined): Held {
    const [, id = "", secret = ""] = /^Bearer ([\w-]{1,64})\.([\w-]{1,64})$/i.exec(header ?? "") ?? [];
    const held = this.sessions.get(id);
    if (timingSafeEqual(digest(secret), held?.secret ?? digest("")) && held !== undefined) return held;
    throw new ApiError(401, "The API key is missing, wrong, or of a run that has ended.", "invalid_api_key");
  }

  private turnTokens({ tools, variables }: Pick<ChatRequest, "tools" | "variables">): TurnTokens {
    const key = JSON.stringify([tools, variables]);
    let tokens = this.templates.get(key);
    if (tokens === undefined) {
      if (this.templates.size >= REMEMBERED) this.templates.clear();
      const { tokenizer, templateVariables } = this.options;
      const all = { ...templateVariables, ...variables, tools: tools.map((tool) => ({ ...tool })) };
      tokens = new TurnTokens(tokenizer, all);
      this.templates.set(key, tokens);
    }
    return tokens;
  }
}

const PORT_TAKEN: ReadonlySet<unknown> = new Set(["EADDRINUSE", "EACCES"]);

const taken = (port: number, cause: NodeJS.ErrnoException): VerlError =>
  new VerlError(
    "VERL_AGENT_PORT",
    cause.code === "EACCES"
      ? `Port ${port} of ${HOST} is not yours to listen on: the system keeps it for others.`
      : `Port ${port} of ${HOST} is in use by another program.`,
    { cause, hint: "Name another port, or 0 for any that is free." },
  );

/** The name in a path. @throws ApiError 404 for what is no text */
function modelOf(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    throw new ApiError(404, `There is no model ${name}.`, "model_not_found", "model");
  }
}

async function allClosed(responses: ReadonlySet<ServerResponse>): Promise<void> {
  if (responses.size === 0) return;
  const limit = new AbortController();
  const closed = Promise.all([...responses].map((response) => once(response, "close")));
  await Promise.race([closed, sleep(CLOSE_MS, undefined, { signal: limit.signal })]);
  limit.abort();
  for (const response of responses) response.destroy();
}

const digest = (secret: string): Buffer => createHash("sha256").update(secret).digest();

const headOf = (kind: string, model: string): ResponseHead => ({
  id: `${kind}-${randomUUID()}`,
  created: Math.floor(Date.now() / 1000),
  model,
});

const retryHeader = ({ retryAfterS }: ApiError): OutgoingHttpHeaders =>
  retryAfterS === undefined ? {} : { "retry-after": String(Math.ceil(retryAfterS)) };
