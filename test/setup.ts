import fc from "fast-check";

/** Property tests draw the same cases each time, so that a change is judged by what it changed. `VERL_TEST_SEED` draws others. */
fc.configureGlobal({ seed: Number(process.env["VERL_TEST_SEED"] ?? 20261129) });
