import { createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, it } from "@jest/globals";
import { RayTransport } from "../../core/controller/ray/ray-transport.ts";
import { createLogger } from "../../core/registry/index.ts";

/* What is no cluster of Ray is told of soon, whatever it does. */

let server: Server | undefined;
const sockets: Socket[] = [];

afterEach(() => {
  server?.close();
  for (const socket of sockets.splice(0)) socket.destroy();
});

/** Something that treats each connection like this. */
async function listen(greet: (socket: Socket) => void): Promise<number> {
  server = createServer((socket) => {
    sockets.push(socket);
    socket.on("error", () => undefined);
    greet(socket);
  });
  await new Promise<void>((resolve) => server!.listen(0, "127.0.0.1", resolve));
  return (server.address() as { port: number }).port;
}

const silent = (socket: Socket): unknown => socket.resume();

it.each<[string, (socket: Socket) => unknown, string, string]>([
  ["says nothing", silent, "", "no answer of a Ray cluster within 10 s"],
  ["says nothing", silent, "http://", "no answer within 10 s"],
  [
    "speaks otherwise",
    (socket) => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n"),
    "",
    "what answers is no Ray cluster",
  ],
  ["hangs up", (socket) => socket.end(), "", "No Ray cluster answers"],
])("what %s is no cluster", async (_, greet, scheme, words) => {
  const address = `${scheme}127.0.0.1:${await listen(greet)}`;
  const ray = { address, host: null, port: 0, python: "false", tls_cert: null, tls_key: null };
  const transport = new RayTransport(
    { controller: { ray } },
    createLogger({ level: "silent" }),
    new AbortController().signal,
  );
  const start = Date.now();
  await expect(transport.resources()).rejects.toMatchObject({
    code: "VERL_RAY_CLUSTER",
    message: expect.stringContaining(words) as unknown,
  });
  expect(Date.now() - start).toBeLessThan(60_000);
  await transport.close();
});
