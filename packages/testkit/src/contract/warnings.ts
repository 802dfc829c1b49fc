import { afterAll, beforeAll, expect } from '@jest/globals';

/** The codes that were caught. Each is given once in a process, so the second adapter of a file does not see it again. */
const caught = new Set<string>();

/**
 * Catches the warnings that scenarios of a block provoke, so that they are not printed; others are. Fails after the block
 * where one of these was not given.
 */
export function catchWarnings(codes: readonly string[], areAllProvoked: boolean): void {
  const emitWarning = process.emitWarning.bind(process) as (warning: string | Error, options?: object) => void;
  beforeAll(() => {
    process.emitWarning = ((warning: string | Error, options?: { readonly code?: string }) => {
      const code = options?.code ?? '';
      if (codes.includes(code)) caught.add(code);
      else emitWarning(warning, options);
    }) as typeof process.emitWarning;
  });
  afterAll(() => {
    process.emitWarning = emitWarning as typeof process.emitWarning;
    if (areAllProvoked) expect([...caught]).toEqual(expect.arrayContaining([...codes]));
  });
}
