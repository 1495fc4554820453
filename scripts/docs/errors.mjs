// Writes core/errors/README.md from the table of codes: `node scripts/docs/errors.mjs`.
import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const FAULT = {
  user: "config or usage",
  plugin: "the plugin",
  host: "verl",
};

/** The page for a table of codes, sorted by area. @param exitCode of a command that ends with a code. */
export function errorsPage(codes, exitCode) {
  const areas = new Map();
  for (const entry of Object.entries(codes)) {
    const area = entry[0].split("_")[1];
    areas.set(area, [...(areas.get(area) ?? []), entry]);
  }
  const sections = [...areas].map(([area, entries]) => {
    const rows = entries.map(
      ([code, { blame, when }]) =>
        `| \`${code}\` | ${exitCode(code)} | ${FAULT[blame]} | ${when.replaceAll("|", "\\|")} |`,
    );
    const head = ["| code | exit | at fault | raised when |", "| --- | --- | --- | --- |"];
    return [`## ${area.toLowerCase()}`, "", ...head, ...rows].join("\n");
  });
  return `${HEAD}\n${sections.join("\n\n")}\n`;
}

const HEAD = `# Error codes

<!-- Generated from codes.ts by scripts/docs/errors.mjs. Do not edit. -->

Every error of the project is a \`VerlError\`: a permanent \`code\`, a \`message\` that says what is wrong with which value, a \`hint\` that says
what to do, a \`location\` (file, line and column, the override's text, or the plugin), a \`cause\`, and \`details\` for machines. A command exits
with 2 where what it was given (its line, the config, plugins, data, the model) is wrong and nothing was begun; with 1 where its work
failed: training, a reward, a corrupt checkpoint, a full disk; with 130 after Ctrl-C; with 0 when all is done.

To add a code: one line in \`codes.ts\`, in its place by the alphabet, a raise, a test, and \`node scripts/docs/errors.mjs\`.
`;

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { register } = await import("tsx/esm/api");
  register();
  const { ERROR_CODES, exitCodeOf, VerlError } = await import("../../core/errors/index.ts");
  const page = errorsPage(ERROR_CODES, (code) => exitCodeOf(new VerlError(code, "")));
  await writeFile(new URL("../../core/errors/README.md", import.meta.url), page);
}
