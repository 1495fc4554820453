import { callingManager, type PackageManager } from "./package-manager.ts";
import { defaultKey, defaultPackage, keyFault, packageFault, refuse } from "./names.ts";
import type { Flags } from "./flags.ts";
import type { Terminal } from "./terminal.ts";
import { TEMPLATE_NAMES, type TemplateName } from "./templates.ts";
import { UsageError } from "./usage-error.ts";

/** Everything settled. */
export interface Choices {
  readonly directory: string;
  readonly template: TemplateName;
  readonly name: string;
  readonly key: string;
  readonly pm: PackageManager;
  readonly install: boolean;
  readonly git: boolean;
}

/** Answers to what flags leave open. */
export interface Questions {
  directory(): Promise<string>;
  template(): Promise<TemplateName>;
  name(suggested: string): Promise<string>;
  key(suggested: string): Promise<string>;
  install(pm: PackageManager): Promise<boolean>;
  git(): Promise<boolean>;
}

/** Takes flags, then answers, then defaults. @throws UsageError for a value that cannot be, or that nobody gave. */
export async function settle(flags: Flags, terminal: Terminal, questions?: Questions): Promise<Choices> {
  const pm = flags.pm ?? callingManager(terminal.env["npm_config_user_agent"]);
  if (flags.name !== undefined) refuse(packageFault(flags.name));
  if (flags.key !== undefined) refuse(keyFault(flags.key));
  const directory = flags.directory ?? (await questions?.directory());
  const template = flags.template ?? (await questions?.template()) ?? (flags.yes ? "policy-loss" : undefined);
  if (directory === undefined || template === undefined) throw tooOpen(directory, template);

  const suggested = defaultPackage(directory, terminal.cwd);
  const name = flags.name ?? (await questions?.name(suggested)) ?? suggested;
  const suggestedKey = defaultKey(name);
  const key = flags.key ?? (await questions?.key(suggestedKey)) ?? suggestedKey;
  const install = flags.install ?? (await questions?.install(pm)) ?? true;
  const git = flags.git ?? (await questions?.git()) ?? true;
  return { directory, template, name, key, pm, install, git };
}

function tooOpen(directory: string | undefined, template: string | undefined): UsageError {
  const open = [directory === undefined && "a directory", template === undefined && "a template"].filter(Boolean);
  return new UsageError(
    `Nobody can be asked here, so the command has to name ${open.join(" and ")}:\n  npm create verl-plugin@latest ${directory ?? "my-plugin"} -- --template ${template ?? "policy-loss"}\nTemplates are ${TEMPLATE_NAMES.join(", ")}; --yes takes policy-loss.`,
  );
}
