import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "@jest/globals";
import { FIELD_TABLE, type FieldRule } from "../../core/agent/gateway/field-table.ts";
// @ts-expect-error -- a plain script without types
import { gatewayPage } from "../../scripts/docs/gateway.mjs";

const page = gatewayPage as (table: readonly FieldRule[]) => string;

it("core/agent/gateway/README.md says what the table says; `npm run generate` writes it", () => {
  const written = readFileSync(join(import.meta.dirname, "../../core/agent/gateway/README.md"), "utf8");
  expect(written).toBe(page(FIELD_TABLE));
});

it("the page has each field, and each field one rule an endpoint", () => {
  const text = page(FIELD_TABLE);
  for (const endpoint of ["chat", "completions"]) {
    const fields = FIELD_TABLE.filter(({ only = endpoint }) => only === endpoint).flatMap((rule) => rule.fields);
    for (const field of fields) expect(text).toContain(`\`${field}\``);
    expect(new Set(fields).size).toBe(fields.length);
  }
});
