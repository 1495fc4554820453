import type { CliCommand } from "./command.ts";

const PACKAGE = "folder of the package, or the name of an installed one (default: this folder)";

export const command: CliCommand = {
  configure(self, ctx) {
    self
      .command("test")
      .description("Run the conformance kit on everything that a plugin provides")
      .argument("[package]", PACKAGE, ".")
      .option("--json", "print JSON")
      .action(async (given: string, options: { json?: boolean }) => {
        const { testPackage } = await import("./plugin-test.ts");
        await testPackage(given, options, ctx);
      });

    self
      .command("docs")
      .description("Print the tables of a plugin's README: options, metrics, required fields")
      .argument("[package]", PACKAGE, ".")
      .option("--write", "put them between the markers `verl:begin` and `verl:end` of its README.md")
      .option("--check", "fail where the README.md has other tables")
      .action(async (given: string, options: { write?: boolean; check?: boolean }) => {
        const { documentPackage } = await import("./plugin-docs.ts");
        await documentPackage(given, options, ctx);
      });
  },
};
