import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { expect, it } from "@jest/globals";
import { root } from "./files.ts";

type Declared = Map<string, { file: string; documented: boolean }>;

const parse = (file: string): ts.SourceFile =>
  ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.ES2022, true);

const known = new Map<string, Declared>();

/** What a file exports, its own declarations and those that it passes on. */
function exportsOf(file: string): Declared {
  const all: Declared = known.get(file) ?? new Map();
  if (known.has(file)) return all;
  known.set(file, all);
  const from = (specifier: ts.Expression): Declared => {
    const { text } = specifier as ts.StringLiteral;
    return text.startsWith(".") ? exportsOf(join(dirname(file), text)) : new Map();
  };
  const visible: Declared = new Map();
  for (const statement of parse(file).statements) {
    if (ts.isImportDeclaration(statement)) {
      for (const [name, declared] of from(statement.moduleSpecifier)) visible.set(name, declared);
    } else if (ts.isExportDeclaration(statement)) {
      const passed = statement.moduleSpecifier ? from(statement.moduleSpecifier) : visible;
      const names = statement.exportClause && ts.isNamedExports(statement.exportClause) ? statement.exportClause : null;
      if (names === null) for (const [name, declared] of passed) all.set(name, declared);
      else {
        for (const { name, propertyName } of names.elements) {
          all.set(name.text, passed.get((propertyName ?? name).text) ?? { file, documented: false });
        }
      }
    } else {
      for (const name of namesOf(statement)) {
        // Of a class and its interface, or of overloads, one docstring is enough.
        const documented = isDocumented(statement) || visible.get(name)?.documented === true;
        visible.set(name, { file, documented });
        if (isExported(statement)) all.set(name, { file, documented });
      }
    }
  }
  return all;
}

/** Functions, classes and values have a docstring; a type has one, or has them at its members. */
function isDocumented(statement: ts.Statement): boolean {
  if (ts.getJSDocCommentsAndTags(statement).length > 0) return true;
  const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
  return isType && statement.getText().includes("/** ");
}

const isExported = (statement: ts.Statement): boolean =>
  ts.canHaveModifiers(statement) &&
  ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  const { name } = statement as ts.Statement & { name?: ts.Node };
  return name && ts.isIdentifier(name) ? [name.text] : [];
}

it.each([
  ["core/index.ts", 200],
  ["core/testing/index.ts", 10],
] as const)("every export of %s has a docstring", (face, least) => {
  const all = exportsOf(join(root, face));
  expect(all.size).toBeGreaterThanOrEqual(least);
  const bare = [...all].filter(([, declared]) => !declared.documented);
  expect(bare.map(([name, declared]) => `${declared.file.slice(root.length + 1)}: ${name}`)).toEqual([]);
});
