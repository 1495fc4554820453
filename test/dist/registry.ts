import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { basename } from "node:path";
import { Readable } from "node:stream";
import type { Packed } from "./pack.ts";

/** A registry on this machine that has the packages just packed, as if they were published; all others come from the real one. */
export interface LocalRegistry {
  readonly url: string;
  close(): Promise<void>;
}

/** @param upstream Address of the real registry. */
export async function serveRegistry(packed: readonly Packed[], upstream: string): Promise<LocalRegistry> {
  const own = new Map(packed.map((one) => [one.name, one]));
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(502).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = decodeURIComponent((request.url ?? "/").slice(1).split("?")[0]!);
    const file = packed.find(({ tarball }) => path === `tarballs/${basename(tarball)}`);
    if (file !== undefined) return void createReadStream(file.tarball).pipe(response);
    const found = own.get(path);
    if (found !== undefined) return void response.end(JSON.stringify(await documentOf(found)));
    const { accept = "*/*" } = request.headers;
    const theirs = await fetch(new URL(request.url!.slice(1), upstream), { headers: { accept } });
    response.writeHead(theirs.status, { "content-type": theirs.headers.get("content-type") ?? "application/json" });
    if (theirs.body === null) return void response.end();
    Readable.fromWeb(theirs.body).pipe(response);
  }

  async function documentOf({ name, version, folder, tarball, integrity }: Packed): Promise<object> {
    const manifest = JSON.parse(await readFile(`${folder}/package.json`, "utf8")) as object;
    const dist = { tarball: `${url}tarballs/${basename(tarball)}`, integrity };
    return { name, "dist-tags": { latest: version }, versions: { [version]: { ...manifest, dist } } };
  }

  return { url, close: () => new Promise((resolve) => void server.close(() => resolve())) };
}
