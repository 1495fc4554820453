import { createSocket } from "node:dgram";
import { connect } from "node:http2";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { VerlError } from "../../errors/index.ts";
import { thrownText } from "../thrown-text.ts";
import type { ConfigFault } from "../transport.ts";

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
  const address = named(given);
  const at = readAddress(address);
  if (at) return at;
  const { code, message, hint, path } = addressFault(address);
  throw new VerlError(code, message, { hint, location: { path } });
}

const named = (given: string | null): string => given ?? process.env["RAY_ADDRESS"] ?? "";

function readAddress(address: string): ClusterAddress | undefined {
  if (/^https?:\/\//.test(address) && URL.canParse(address)) {
    const url = new URL(address);
    return { launch: "job", url, hostname: bare(url.hostname) };
  }
  const parts = /^(\[[0-9a-f:]+\]|[\w.-]+):(\d{1,5})$/i.exec(address);
  if (!parts || !(Number(parts[2]) >= 1 && Number(parts[2]) <= 65535)) return undefined;
  return { launch: "direct", address, hostname: bare(parts[1]!) };
}

const addressFault = (address: string): ConfigFault => ({
  code: "VERL_RAY_CONFIG",
  path: "controller.ray.address",
  message: address === "" ? "No Ray cluster is named." : `"${address}" is not the address of a Ray cluster.`,
  hint: "Set controller.ray.address, or RAY_ADDRESS: host:port of the cluster's head as `ray start` prints it (10.0.0.5:6379), on a machine of the cluster; or the URL of its job API (http://10.0.0.5:8265) from anywhere.",
});

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

/**
 * Waits for an answer at `host:port`: Ray itself would ask for a minute and more, and cannot be stopped meanwhile. What answers speaks
 * HTTP/2, by gRPC; under Ray's own TLS only the connection is tried. @throws VERL_RAY_CLUSTER
 */
export async function requireAnswer(address: string): Promise<void> {
  const encrypted = process.env["RAY_USE_TLS"] === "1";
  const session = connect(`http://${address}`);
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const late = (): void => reject(new Error(`no answer of a Ray cluster within ${ANSWER_S} s`));
      timer = setTimeout(late, ANSWER_S * 1000);
      session.once(encrypted ? "connect" : "remoteSettings", () => resolve());
      session.once("close", () => reject(new Error("it hung up")));
      session.on("error", ({ code, message }: NodeJS.ErrnoException) => {
        reject(new Error(code?.startsWith("ERR_HTTP2") ? "what answers is no Ray cluster" : message));
      });
    });
  } catch (cause) {
    throw new VerlError("VERL_RAY_CLUSTER", `No Ray cluster answers at ${address}: ${thrownText(cause)}.`, {
      hint: "Check controller.ray.address (or RAY_ADDRESS), and that the cluster runs (`ray status`).",
    });
  } finally {
    clearTimeout(timer);
    session.destroy();
  }
}

/** Certificate and key, where the config names both. @throws VERL_RAY_CONFIG */
export function readTls(ray: TlsConfig): { cert: string; key: string } | undefined {
  const [fault] = tlsFaults(ray);
  if (fault) throw new VerlError(fault.code, fault.message, fault);
  const { tls_cert: cert, tls_key: key } = ray;
  return cert === null || key === null
    ? undefined
    : { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

type TlsConfig = Pick<RayConfig, "tls_cert" | "tls_key">;

/** What is wrong with `controller.ray`. @param known values of the config by path; one that is in doubt is undefined. */
export function rayFaults(known: (path: string) => unknown): ConfigFault[] {
  const [address, cert, key] = ["address", "tls_cert", "tls_key"].map((name) => known(`controller.ray.${name}`));
  const isKnown = (value: unknown): value is string | null => typeof value === "string" || value === null;
  return [
    ...(isKnown(address) && !readAddress(named(address)) ? [addressFault(named(address))] : []),
    ...(isKnown(cert) && isKnown(key) ? tlsFaults({ tls_cert: cert, tls_key: key }) : []),
  ];
}

function tlsFaults({ tls_cert: cert, tls_key: key }: TlsConfig): ConfigFault[] {
  const fault = (name: keyof TlsConfig, message: string, cause?: unknown): ConfigFault => {
    return { code: "VERL_RAY_CONFIG", path: `controller.ray.${name}`, message, hint: PEM_HINT, cause };
  };
  if (cert === null && key === null) return [];
  if (cert === null || key === null) {
    const [given, missing] = cert === null ? (["tls_key", "tls_cert"] as const) : (["tls_cert", "tls_key"] as const);
    return [fault(given, `\`controller.ray.${given}\` is given without \`controller.ray.${missing}\`.`)];
  }
  const certificate = readPem(cert, "certificate", (pem) => new X509Certificate(pem));
  const privateKey = readPem(key, "private key", (pem) => createPrivateKey(pem));
  const faults: ConfigFault[] = [];
  if ("wrong" in certificate)
    faults.push(fault("tls_cert", `\`controller.ray.tls_cert\` ${certificate.wrong}`, certificate.cause));
  if ("wrong" in privateKey)
    faults.push(fault("tls_key", `\`controller.ray.tls_key\` ${privateKey.wrong}`, privateKey.cause));
  if ("read" in certificate && "read" in privateKey && !certificate.read.checkPrivateKey(privateKey.read)) {
    faults.push(fault("tls_key", "`controller.ray.tls_key` is not the private key of `controller.ray.tls_cert`."));
  }
  return faults;
}

const PEM_HINT =
  "PEM files of a certificate and its unencrypted private key: `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -subj /CN=verl`.";

/** What the file holds, or what is wrong with it in words. */
function readPem<T>(
  path: string,
  what: string,
  read: (pem: string) => T,
): { read: T } | { wrong: string; cause: unknown } {
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (cause) {
    return { wrong: `cannot be read: ${path}.`, cause };
  }
  try {
    return { read: read(pem) };
  } catch (cause) {
    return { wrong: `holds no ${what} in PEM: ${path}.`, cause };
  }
}
