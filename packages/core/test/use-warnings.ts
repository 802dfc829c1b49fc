import { afterEach, beforeEach, jest } from '@jest/globals';

/** What was warned of in this test: code and message. */
export function useWarnings(): readonly string[] {
  const warnings: string[] = [];
  beforeEach(() => {
    warnings.length = 0;
    jest.spyOn(process, 'emitWarning').mockImplementation((message, options) => {
      warnings.push(`${String((options as { code?: string }).code)}: ${String(message)}`);
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  return warnings;
}
