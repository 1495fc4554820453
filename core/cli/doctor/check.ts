import { VerlError } from "../../errors/index.ts";

/** One thing that was looked at. */
export interface Check {
  readonly name: string;
  /** `note`: worth knowing, and no fault. */
  readonly state: "ok" | "note" | "fail";
  readonly detail: string;
  /** What to do about it. */
  readonly fix?: string;
}

/** Ends `verl doctor` after its report with an exit code of its own. */
export class CheckFailed extends VerlError {
  constructor(failed: number) {
    super("VERL_DOCTOR_FAILED", `${failed === 1 ? "A check" : `${failed} checks`} failed.`, {
      hint: "The report above says what to do about each.",
    });
  }
}
