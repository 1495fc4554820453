import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Paths of a new certificate and its key, as the config names them. */
export function certificate(): { tls_cert: string; tls_key: string } {
  const cwd = mkdtempSync(join(tmpdir(), "verl-cert-"));
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem";
  execFileSync("openssl", `req -x509 ${key} -out cert.pem -days 2 -subj /CN=verl`.split(" "), { cwd, stdio: "ignore" });
  return { tls_cert: join(cwd, "cert.pem"), tls_key: join(cwd, "key.pem") };
}
