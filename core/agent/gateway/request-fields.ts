import { ApiError } from "./api-error.ts";

export type Fields = Readonly<Record<string, unknown>>;

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The request is wrong at `param`. */
export const invalid = (param: string, what: string): ApiError =>
  new ApiError(400, `Invalid '${param}': ${what}.`, "invalid_value", param);

/** A number within bounds; undefined where the field is left out or null. @throws ApiError */
export function numberField(body: Fields, name: string, min: number, max: number): number | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value !== "number" || !(value >= min && value <= max)) {
    throw invalid(name, `it must be a number from ${min} to ${max}`);
  }
  return value;
}

/** The same for whole numbers. @throws ApiError */
export function integerField(body: Fields, name: string, min: number, max: number): number | undefined {
  const value = numberField(body, name, min, max);
  if (value !== undefined && !Number.isInteger(value)) throw invalid(name, "it must be a whole number");
  return value;
}

/** `absent` where the field is left out or null. @throws ApiError */
export function flagField(body: Fields, name: string, absent = false): boolean {
  const value = body[name] ?? absent;
  if (typeof value !== "boolean") throw invalid(name, "it must be true or false");
  return value;
}
