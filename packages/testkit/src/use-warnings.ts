import { afterEach, beforeEach, jest } from '@jest/globals';

/** Catches the warnings of each test. Returns those of the test so far. Call it inside `describe`, or at the top. */
export function useWarnings(): () => readonly { readonly code: string; readonly message: string }[] {
  let emitWarning: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  });
  afterEach(() => {
    emitWarning.mockRestore();
  });
  return () =>
    emitWarning.mock.calls.map(([message, options]) => ({
      ...(options as object as { code: string }),
      message: String(message),
    }));
}
