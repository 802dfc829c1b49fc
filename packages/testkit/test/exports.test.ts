import { expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const untyped: string = '../../../scripts/build/packages.mjs';
const { PACKAGES } = (await import(untyped)) as { PACKAGES: Record<string, { entries: Record<string, string> }> };

it('exports these names, and no others', () => {
  const entries = Object.entries(PACKAGES).flatMap(([folder, { entries: files }]) =>
    Object.entries(files).map(([path, file]) => ({
      name: `@sluice/${folder}${path.slice(1)}`,
      file: `${root}packages/${folder}/src/${file}`,
    })),
  );
  const { config } = ts.readConfigFile(`${root}tsconfig.base.json`, (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const program = ts.createProgram(
    entries.map(({ file }) => file),
    { ...options, noLib: true, types: [] },
  );
  const checker = program.getTypeChecker();
  const exported = (file: ts.Node | undefined): string[] => {
    const symbol = file && checker.getSymbolAtLocation(file);
    return symbol === undefined ? [] : checker.getExportsOfModule(symbol).map(described);
  };
  const described = (symbol: ts.Symbol): string => {
    const of = (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
    return (of.flags & ts.SymbolFlags.Value) === 0 ? `type ${symbol.name}` : symbol.name;
  };

  const surface = entries.map(({ name, file }) => {
    const source = program.getSourceFile(file);
    // What a package passes on whole is listed where it comes from.
    const whole = (source?.statements ?? []).flatMap((statement) =>
      ts.isExportDeclaration(statement) && statement.exportClause === undefined && statement.moduleSpecifier
        ? [statement.moduleSpecifier as ts.StringLiteral]
        : [],
    );
    const elsewhere = whole.filter(({ text }) => text.startsWith('@sluice/'));
    const theirs = new Set(elsewhere.flatMap(exported));
    const own = exported(source).filter((one) => !theirs.has(one));
    return [name, [...elsewhere.map(({ text }) => `* from ${text}`), ...own.toSorted()]];
  });

  expect(Object.fromEntries(surface)).toMatchSnapshot();
});

it('knows every package that is published', () => {
  const published = readdirSync(`${root}packages`).filter((folder) => {
    const manifest = JSON.parse(readFileSync(`${root}packages/${folder}/package.json`, 'utf8')) as {
      private?: boolean;
    };
    return manifest.private !== true;
  });

  expect(Object.keys(PACKAGES).toSorted()).toEqual(published.toSorted());
});
