// Gives the rows of the sorting example the user that answers them: `interaction_kwargs`, with what that user knows.
import { fileURLToPath } from "node:url";
import { readRows, writeParquet } from "verl";

const at = (file) => fileURLToPath(new URL(`sort-letters/data/${file}.parquet`, import.meta.url));
const MESSAGES = [{ role: "string", content: "string" }];

for (const split of ["train", "validation"]) {
  const rows = await readRows(at(split));
  await writeParquet(
    at(`${split}-with-user`),
    rows.map((row) => ({ ...row, interaction_kwargs: { name: "user", ...row.reward_model } })),
    {
      data_source: "string",
      prompt: MESSAGES,
      reward_model: { style: "string", ground_truth: "string" },
      interaction_kwargs: { name: "string", ground_truth: "string" },
    },
  );
}
