import { expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const file = fileURLToPath(new URL('in-an-editor.ts', import.meta.url));
const text = `
import type { RateLimitOptions } from '@sluice/old-http/spi';
interface Request { readonly path: string }
interface Response { end(): void }
export const good: RateLimitOptions<Request, Response> = { limit: 1, window: '1m', cors: true };
export const misspelt: RateLimitOptions<Request, Response> = { limit: 1, window: '1m', corz: true };
`;

/** What an editor asks: the file above is in its memory, and it imports the declarations that were built. */
function editor(): ts.LanguageService {
  const settings: ts.CompilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  };
  const read = (path: string): string | undefined => (path === file ? text : ts.sys.readFile(path));
  return ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const found = read(path);
      return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found);
    },
    getCurrentDirectory: () => fileURLToPath(new URL('.', import.meta.url)),
    getCompilationSettings: () => settings,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    readFile: read,
  });
}

it('shows the type, the meaning and the default of an option, and names the options in the error of another', () => {
  const asked = editor();

  const hover = asked.getQuickInfoAtPosition(file, text.indexOf('cors'));
  const [error, ...others] = asked.getSemanticDiagnostics(file);

  expect(ts.displayPartsToString(hover?.displayParts)).toBe(
    '(property) ResponseOptions<Request, Response, Response>.cors?: boolean | undefined',
  );
  expect(ts.displayPartsToString(hover?.documentation)).toMatch(/^Adds the fields .* Default `false`\.$/);
  expect(ts.flattenDiagnosticMessageText(error?.messageText, '\n')).toContain(
    "'corz' does not exist in type 'SharedOptions<Request, Response, Response> & LimiterCoreOptions",
  );
  expect(others).toEqual([]);
});
