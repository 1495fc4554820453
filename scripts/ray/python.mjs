import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../.venv/ray", import.meta.url));

/** Path of a Python that has Ray, in a virtual environment that is made once; `VERL_RAY_PYTHON` names another. */
export function rayPython() {
  const given = process.env.VERL_RAY_PYTHON;
  if (given) return given;
  const python = `${folder}/bin/python`;
  if (existsSync(`${folder}/bin/ray`)) return python;
  console.error("Making .venv/ray with Ray, once …");
  const stdio = ["ignore", "ignore", "inherit"];
  execFileSync("python3", ["-m", "venv", folder], { stdio });
  // pip asks each index for each package: where one of several does not answer, more tries take minutes.
  execFileSync(python, ["-m", "pip", "install", "--quiet", "--retries", "1", "ray>=2.50,<3", "numpy"], { stdio });
  return python;
}
