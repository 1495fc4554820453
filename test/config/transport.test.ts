import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "@jest/globals";
import { loadRunConfig } from "../../core/config/run-config.ts";
import { exitCodeOf, isVerlError } from "../../core/errors/index.ts";

let folder: string;
const file = (name: string): string => join(folder, name);

const before = process.env["RAY_ADDRESS"];

/** What a config that names no cluster goes by. */
function inherit(address: string | undefined): void {
  if (address === undefined) delete process.env["RAY_ADDRESS"];
  else process.env["RAY_ADDRESS"] = address;
}

beforeEach(() => inherit("10.0.0.5:6379"));

afterAll(() => inherit(before));

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "verl-tls-"));
  for (const name of ["one", "two"]) {
    const key = `-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ${name}-key.pem`;
    const words = `req -x509 ${key} -out ${name}.pem -days 2 -subj /CN=verl`.split(" ");
    execFileSync("openssl", words, { cwd: folder, stdio: "ignore" });
  }
  writeFileSync(file("no.pem"), "no certificate");
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Path and message of each thing that is wrong with `controller.ray`. */
async function faults(ray: Readonly<Record<string, string>>, transport = "ray"): Promise<unknown[]> {
  const given = Object.fromEntries(Object.entries(ray).map(([key, value]) => [`controller.ray.${key}`, value]));
  const overrides = Object.entries(given).map(([path, value]) => `${path}=${value}`);
  try {
    const files = ["data.train_files=a.jsonl", `controller.transport=${transport}`];
    await loadRunConfig({ schema: "sft", overrides: [...files, ...overrides], env: {} });
    return [];
  } catch (error) {
    if (!isVerlError(error)) throw error;
    expect(exitCodeOf(error)).toBe(2);
    const { problems } = error.details as {
      problems: { code: string; message: string; location: { path: string; override: string } }[];
    };
    return problems.map(({ code, message, location }) => {
      const override = location.path in given ? expect.stringContaining("controller.ray") : undefined;
      expect([code, location.override]).toEqual(["VERL_RAY_CONFIG", override]);
      return [location.path.replace("controller.ray.", ""), message.replaceAll(folder, "")];
    });
  }
}

describe("a config for a cluster of Ray", () => {
  it.each(["foo", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:70000", "ray://10.0.0.1:10001", "http://"])(
    "is refused where its address is none: %s",
    async (address) => {
      expect(await faults({ address })).toEqual([["address", `"${address}" is not the address of a Ray cluster.`]]);
      expect(await faults({ address }, "inline")).toEqual([]);
    },
  );

  describe.each<[string | undefined, string]>([
    [undefined, "No Ray cluster is named."],
    ["auto", '"auto" is not the address of a Ray cluster.'],
    ["10.0.0.5:6379", ""],
  ])("and RAY_ADDRESS=%s", (inherited, message) => {
    beforeEach(() => inherit(inherited));

    it("is refused where no cluster is named, beside all else", async () => {
      expect(await faults({})).toEqual(message === "" ? [] : [["address", message]]);
      expect(await faults({}, "inline")).toEqual([]);
      expect(await faults({ address: "10.0.0.5:6379" })).toEqual([]);
    });
  });

  it("is refused with half a certificate, or files that are none, and all of it is told at once", async () => {
    expect(await faults({ tls_cert: file("one.pem") })).toEqual([
      ["tls_cert", "`controller.ray.tls_cert` is given without `controller.ray.tls_key`."],
    ]);
    expect(await faults({ address: "foo", tls_key: file("one-key.pem") })).toEqual([
      ["address", expect.anything()],
      ["tls_key", "`controller.ray.tls_key` is given without `controller.ray.tls_cert`."],
    ]);
    expect(await faults({ tls_cert: file("no.pem"), tls_key: file("none.pem") })).toEqual([
      ["tls_cert", "`controller.ray.tls_cert` holds no certificate in PEM: /no.pem."],
      ["tls_key", "`controller.ray.tls_key` cannot be read: /none.pem."],
    ]);
    expect(await faults({ tls_cert: file("one-key.pem"), tls_key: file("one.pem") })).toEqual([
      ["tls_cert", "`controller.ray.tls_cert` holds no certificate in PEM: /one-key.pem."],
      ["tls_key", "`controller.ray.tls_key` holds no private key in PEM: /one.pem."],
    ]);
    expect(await faults({ tls_cert: file("one.pem"), tls_key: file("two-key.pem") })).toEqual([
      ["tls_key", "`controller.ray.tls_key` is not the private key of `controller.ray.tls_cert`."],
    ]);
  });

  it.each(["10.0.0.5:6379", "'[::1]:6379'", "head.cluster:6379", "http://10.0.0.5:8265"])(
    "is taken with an address such as %s, and a certificate with its key",
    async (address) => {
      expect(await faults({ address, tls_cert: file("one.pem"), tls_key: file("one-key.pem") })).toEqual([]);
    },
  );
});
