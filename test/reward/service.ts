import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface Request {
  url: string;
  headers: IncomingHttpHeaders;
  body: Record<string, unknown>;
}

/** What a service does with a request: JSON, a status with headers, bytes as they are, nothing ever, a broken line. */
export type Reply =
  | { json: unknown }
  | { status: number; headers?: Record<string, string>; text?: string }
  | { raw: string }
  | "stall"
  | "drop";

export interface Service {
  url: string;
  requests: Request[];
  /** Most requests under way at once. */
  most: number;
  close(): Promise<void>;
}

/** A service on this machine; `reply` is asked once a request, the first of which is 1. */
export async function serve(
  reply: (request: Request, call: number) => Reply | Promise<Reply>,
  delayMs = 0,
): Promise<Service> {
  let running = 0;
  const service: Service = { url: "", requests: [], most: 0, close: () => Promise.resolve() };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    service.most = Math.max(service.most, ++running);
    response.on("close", () => running--);
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const received = { url: request.url!, headers: request.headers, body: JSON.parse(text) as Request["body"] };
    const call = service.requests.push(received);
    await sleep(delayMs);
    const answer = await reply(received, call);
    if (answer === "stall") return;
    if (answer === "drop") return void request.socket.destroy();
    if ("raw" in answer) return void response.end(answer.raw);
    if ("json" in answer) return void response.end(JSON.stringify(answer.json));
    response.writeHead(answer.status, answer.headers).end(answer.text ?? "");
  };
  const server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  service.close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  return service;
}
