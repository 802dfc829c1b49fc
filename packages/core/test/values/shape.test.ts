import { describe, expect, it } from '@jest/globals';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { Duration } from '../../src/values/duration.ts';
import {
  duration,
  flag,
  functionThat,
  oneOf,
  optional,
  optionsOf,
  readOptions,
  timerMs,
  withDefault,
  type Field,
  type Optional,
  type Options,
  type Settings,
  type WithDefault,
} from '../../src/values/shape.ts';

const TUNE = { notes: withDefault(flag, true) as WithDefault<boolean> };
const BELL = {
  volume: oneOf(['low', 'high']) as Field<'low' | 'high'>,
  length: withDefault(duration(), 2_000) as WithDefault<Duration, number>,
  everyMs: withDefault(timerMs, 100) as WithDefault<number>,
  call: optional(functionThat('a function')) as Optional<() => void>,
  tune: optional(optionsOf(TUNE)) as Optional<Options<typeof TUNE>, Settings<typeof TUNE>>,
};
const ring = (options: Options<typeof BELL>): Settings<typeof BELL> => readOptions(options, BELL, 'ring');

describe('options read by their shape', () => {
  it('are as they are kept, or their defaults', () => {
    expect(ring({ volume: 'low', length: '1m', tune: {} })).toEqual({
      volume: 'low',
      length: 60_000,
      everyMs: 100,
      call: undefined,
      tune: { notes: true },
    });
  });

  it.each<[object, string, string]>([
    [{}, 'volume', 'volume must be "low" or "high", got undefined'],
    [{ volume: 'loud' }, 'volume', 'volume must be "low" or "high", got "loud"'],
    [{ volume: 'low', length: 0.5 }, 'length', 'length must be a whole number of milliseconds from 1 to 36500d'],
    [
      { volume: 'low', everyMs: 2 ** 31 },
      'everyMs',
      'a whole number of milliseconds from 1 to 2147483647, got 2147483648',
    ],
    [{ volume: 'low', call: 5 }, 'call', 'call must be a function, got 5'],
    [{ volume: 'low', tune: { notes: 'yes' } }, 'tune.notes', 'tune.notes must be true or false, got "yes"'],
    [{ volume: 'low', tune: null }, 'tune', 'tune takes an object with notes, got null'],
  ])('are rejected one by one, with what was expected and what came: %j', (options, field, message) => {
    const call = (): unknown => ring(options as never);

    expect(call).toThrow(expect.objectContaining({ name: 'PolicyError', code: 'SLUICE_OPTION_INVALID', field }));
    expect(call).toThrow(message);
  });

  it('have the types of their rows', () => {
    // @ts-expect-error -- volume must be given
    expect(() => ring({ everyMs: 5 })).toThrow();
    // @ts-expect-error -- no such word
    expect(() => ring({ volume: 'loud' })).toThrow();
    // @ts-expect-error -- a flag is no number
    expect([flag as Field<number>]).toHaveLength(1);
    const { length, call }: { readonly length: number; readonly call: (() => void) | undefined } = ring({
      volume: 'low',
      call: undefined,
    });
    expect([length, call]).toEqual([2_000, undefined]);
  });
});

/** What an editor asks about a file in its memory. */
function editor(file: string, text: string): ts.LanguageService {
  const read = (path: string): string | undefined => (path === file ? text : ts.sys.readFile(path));
  return ts.createLanguageService({
    getScriptFileNames: () => [file],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const found = read(path);
      return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found);
    },
    getCurrentDirectory: () => fileURLToPath(new URL('.', import.meta.url)),
    getCompilationSettings: () => ({
      strict: true,
      exactOptionalPropertyTypes: true,
      target: ts.ScriptTarget.ES2022,
      lib: ['lib.es2023.d.ts'],
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      allowImportingTsExtensions: true,
      noEmit: true,
      types: ['node'],
    }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    fileExists: (path) => path === file || ts.sys.fileExists(path),
    readFile: read,
  });
}

it('shows the type, meaning and default of an option in an editor, and the known option in the error of another', () => {
  const file = fileURLToPath(new URL('in-an-editor.ts', import.meta.url));
  const text = `
    import { fixedWindow } from '../../src/policies/fixed-window.ts';
    export const good = fixedWindow({ limit: 1, window: '1m', align: 'clock' });
    export const misspelt = fixedWindow({ limit: 1, window: '1m', alig: 'clock' });
  `;
  const asked = editor(file, text);

  const hover = asked.getQuickInfoAtPosition(file, text.indexOf('align'));
  const errors = asked
    .getSemanticDiagnostics(file)
    .map((error) => ts.flattenDiagnosticMessageText(error.messageText, ' '));

  expect(ts.displayPartsToString(hover?.displayParts)).toBe('(property) align?: "first-hit" | "clock" | undefined');
  expect(ts.displayPartsToString(hover?.documentation)).toMatch(/^The start of windows: .* Default `first-hit`\.$/s);
  expect(errors).toEqual([
    "Object literal may only specify known properties, but 'alig' does not exist in type 'FixedWindowOptions'. Did you mean to write 'align'?",
  ]);
});
