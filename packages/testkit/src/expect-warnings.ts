import { afterAll, expect } from '@jest/globals';

/**
 * Catches the warnings that tests of this file, or block, provoke, so that they are not printed. Afterwards, fails if
 * another warning was given, or one of these was not.
 *
 * @param codes - Of the warnings. Each is given once in a process, and so in a file.
 */
export function expectWarnings(...codes: readonly string[]): void {
  const given = new Set<string>();
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = ((warning: string | Error, options?: string | { readonly code?: string }) => {
    given.add((typeof options === 'object' ? options.code : undefined) ?? String(warning));
  }) as typeof process.emitWarning;
  afterAll(() => {
    process.emitWarning = emitWarning;
    // If only some tests of a file run, only some of them may be given.
    const expected = process.env['SLUICE_PART'] === undefined ? codes : codes.filter((code) => given.has(code));
    expect([...given].toSorted()).toEqual(expected.toSorted());
  });
}
