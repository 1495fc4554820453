/** Package managers that the scaffolder can call. */
export const PACKAGE_MANAGERS = ["npm", "pnpm", "yarn", "bun"] as const;

export type PackageManager = (typeof PACKAGE_MANAGERS)[number];

/** The one that runs this process, as it says itself; npm where none does. */
export function callingManager(userAgent: string | undefined): PackageManager {
  const name = userAgent?.split("/")[0];
  return PACKAGE_MANAGERS.find((manager) => manager === name) ?? "npm";
}

/** How a script of a project is run. */
export const runScript = (manager: PackageManager, script: string): string =>
  script === "test" ? `${manager} test` : manager === "yarn" ? `yarn ${script}` : `${manager} run ${script}`;
