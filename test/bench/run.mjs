// `npm run bench [-- names…] [--json]`: runs each bench file of this folder and prints one table of ratios. Above 1: ours is better.
// Comparators in Python (PyTorch) run in a virtual environment that this script makes once, in .venv/bench.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");

const { values: flags, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean", default: false }, help: { type: "boolean", short: "h", default: false } },
});

const names = readdirSync(here)
  .filter((file) => file.endsWith(".mjs") && file !== "run.mjs")
  .map((file) => file.slice(0, -".mjs".length))
  .sort();

if (flags.help) {
  console.log(`Usage: npm run bench -- [names] [--json]\nNames: ${names.join(", ")} (default: all)`);
  process.exit(0);
}
for (const name of wanted) {
  if (!names.includes(name)) {
    console.error(`No bench is called "${name}". There are: ${names.join(", ")}.`);
    process.exit(2);
  }
}

process.env.VERL_BENCH_PYTHON ??= pythonWithTorch();

const rows = [];
for (const name of names.filter((name) => wanted.length === 0 || wanted.includes(name))) {
  console.error(`bench ${name} …`);
  const { default: bench } = await import(join(here, `${name}.mjs`));
  await bench({
    row: (row) => {
      rows.push({ bench: name, ...row });
      console.error(`  ${row.name}: ${format(row.value)} ${row.unit}`);
    },
  });
}

if (flags.json) {
  console.log(JSON.stringify({ node: process.version, cpu: cpus()[0]?.model, cores: cpus().length, rows }, null, 2));
} else {
  printTable(rows);
}

/** Path of a Python that has PyTorch, or "" when none can be made; the comparisons then say so. */
function pythonWithTorch() {
  const python = join(root, ".venv/bench/bin/python");
  if (existsSync(python)) return python;
  try {
    console.error("Making .venv/bench with PyTorch, once …");
    execFileSync("python3", ["-m", "venv", join(root, ".venv/bench")], { stdio: ["ignore", "ignore", "inherit"] });
    execFileSync(python, ["-m", "pip", "install", "--quiet", "numpy", "torch"], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    return python;
  } catch (error) {
    console.error(`No PyTorch to compare with: ${error.message}`);
    return "";
  }
}

function format(value) {
  return Number.isInteger(value) ? String(value) : value.toPrecision(3);
}

function printTable(all) {
  const cells = all.map((row) => [
    row.bench,
    row.name,
    `${format(row.value)} ${row.unit}`,
    row.ratio === undefined ? "" : `${row.ratio.toFixed(2)}×`,
    row.versus ?? "",
  ]);
  const table = [["bench", "what", "median", "ratio (> 1: ours is better)", "beside"], ...cells];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join("  ")
        .trimEnd(),
    );
}
