import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Round trips to a rank of the ray transport beside Ray's own Python actors, in one cluster, one after the other in turns. */
export default function bench({ row }) {
  const out = execFileSync(
    process.execPath,
    [at("../../scripts/ray/in-namespace.mjs"), process.execPath, "--import", "tsx", at("support/controller/ray.mjs")],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  const { ours, rays } = JSON.parse(out.trim().split("\n").at(-1));
  const versus = (name) => ({
    ratio: rays[name] / ours[name],
    versus: `a Ray actor in Python: ${rays[name].toPrecision(3)} ms`,
  });
  row({ name: "ray: empty call", value: ours.empty, unit: "ms", ...versus("empty") });
  for (const size of ["MB", "MiB"]) {
    row({ name: `ray: 64 ${size} both ways`, value: ours[size], unit: "ms", ...versus(size) });
  }
}
