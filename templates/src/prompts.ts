import { confirm, isCancel, select, text } from "@clack/prompts";
import type { Questions } from "./choices.ts";
import { keyFault, packageFault } from "./names.ts";
import { TEMPLATE_NAMES, TEMPLATES } from "./templates.ts";
import { Cancelled } from "./usage-error.ts";

/** Asks on the terminal. @throws Cancelled at Ctrl-C. */
export const prompts: Questions = {
  directory: async () =>
    answer(
      await text({
        message: "In which folder?",
        placeholder: "my-plugin",
        defaultValue: "my-plugin",
      }),
    ),
  template: async () =>
    answer(
      await select({
        message: "What will it be?",
        options: TEMPLATE_NAMES.map((name) => ({ value: name, label: name, hint: TEMPLATES[name].summary })),
      }),
    ),
  name: async (suggested) => line("What is the package called?", suggested, packageFault),
  key: async (suggested) => line("Under which key will configs name it?", suggested, keyFault),
  install: async (pm) => answer(await confirm({ message: `Install dependencies with ${pm}?` })),
  git: async () => answer(await confirm({ message: "Make a git repository?" })),
};

const line = async (message: string, suggested: string, fault: (given: string) => string | undefined) =>
  answer(
    await text({
      message,
      placeholder: suggested,
      defaultValue: suggested,
      validate: (given) => (given === undefined || given === "" ? undefined : fault(given)),
    }),
  );

function answer<T>(given: T): Exclude<T, symbol> {
  if (isCancel(given)) throw new Cancelled("nothing was written");
  return given as Exclude<T, symbol>;
}
