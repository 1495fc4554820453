import { createSocket } from "node:dgram";
import { connect } from "node:net";
import { readFileSync } from "node:fs";
import { VerlError } from "../../errors/index.ts";

/** `controller.ray` of the config. */
export interface RayConfig {
  readonly address: string | null;
  readonly host: string | null;
  readonly port: number;
  readonly python: string;
  readonly tls_cert: string | null;
  readonly tls_key: string | null;
}

/** Where the cluster is, and how it is entered: `direct` as a process of this machine, `job` through its job API. */
export type ClusterAddress =
  | { readonly launch: "direct"; readonly address: string; readonly hostname: string }
  | { readonly launch: "job"; readonly url: URL; readonly hostname: string };

/** @param given `host:port` of the cluster, or the `http(s):` URL of its job API; null: `RAY_ADDRESS`. @throws VERL_RAY_CONFIG */
export function clusterAddress(given: string | null): ClusterAddress {
  const address = given ?? process.env["RAY_ADDRESS"] ?? "";
  if (/^https?:\/\//.test(address) && URL.canParse(address)) {
    const url = new URL(address);
    return { launch: "job", url, hostname: bare(url.hostname) };
  }
  const parts = /^(\[[0-9a-f:]+\]|[\w.-]+):\d{1,5}$/i.exec(address);
  if (parts) return { launch: "direct", address, hostname: bare(parts[1]!) };
  throw new VerlError(
    "VERL_RAY_CONFIG",
    address === "" ? "No Ray cluster is named." : `"${address}" is not the address of a Ray cluster.`,
    {
      hint: "Set controller.ray.address, or RAY_ADDRESS: host:port of the cluster's head as `ray start` prints it (10.0.0.5:6379), on a machine of the cluster; or the URL of its job API (http://10.0.0.5:8265) from anywhere.",
    },
  );
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, "");

/** This machine's address on the way to another; nothing is sent. */
export function addressTowards(hostname: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createSocket(hostname.includes(":") ? "udp6" : "udp4");
    socket.once("error", (cause) => {
      socket.close();
      reject(
        new VerlError("VERL_RAY_CLUSTER", `There is no way to the Ray cluster at ${hostname}: ${cause.message}.`, {
          hint: "Check controller.ray.address.",
          cause,
        }),
      );
    });
    socket.connect(1, hostname, () => {
      const { address } = socket.address();
      socket.close();
      resolve(address);
    });
  });
}

/** Seconds that the head of a cluster may take to answer. */
const ANSWER_S = 10;

/** Waits for an answer at `host:port`: Ray itself would ask for a minute and more, and cannot be stopped meanwhile. @throws VERL_RAY_CLUSTER */
export function requireAnswer(address: string, hostname: string): Promise<void> {
  const port = Number(address.slice(address.lastIndexOf(":") + 1));
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port, timeout: ANSWER_S * 1000 });
    const fail = (why: string): void => {
      socket.destroy();
      reject(
        new VerlError("VERL_RAY_CLUSTER", `Nothing answers at ${address}: ${why}.`, {
          hint: "Check controller.ray.address (or RAY_ADDRESS), and that the cluster runs (`ray status`).",
        }),
      );
    };
    socket.once("error", ({ message }) => fail(message));
    socket.once("timeout", () => fail(`no connection within ${ANSWER_S} s`));
    socket.once("connect", () => {
      socket.destroy();
      resolve();
    });
  });
}

/** Certificate and key, where the config names both. @throws VERL_RAY_CONFIG */
export function readTls({ tls_cert: cert, tls_key: key }: RayConfig): { cert: string; key: string } | undefined {
  if (cert === null && key === null) return undefined;
  if (cert === null || key === null) {
    throw new VerlError("VERL_RAY_CONFIG", "controller.ray.tls_cert and controller.ray.tls_key come together.");
  }
  return { cert: readPem(cert, "tls_cert"), key: readPem(key, "tls_key") };
}

function readPem(path: string, name: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new VerlError("VERL_RAY_CONFIG", `controller.ray.${name} cannot be read: ${path}.`, { cause });
  }
}
