import { SluiceError } from '@sluice/core';

/** The variables of a process. An empty one says as little as one that is not set. */
export type Environment = Readonly<Record<string, string | undefined>>;

export function isText(value: string | undefined): value is string {
  return value !== undefined && value !== '';
}

/**
 * A flag, as Go reads one. Undefined where it is not set.
 *
 * @throws SluiceError `SLUICE_OPTION_INVALID` for other texts.
 */
export function readBoolean(environment: Environment, name: string): boolean | undefined {
  const text = environment[name];
  if (!isText(text)) return undefined;
  if (/^(1|t|true)$/i.test(text)) return true;
  if (/^(0|f|false)$/i.test(text)) return false;
  throw invalid(name, 'true or false', text);
}

export function invalid(name: string, expected: string, got: string): SluiceError {
  return new SluiceError('SLUICE_OPTION_INVALID', `${name} must be ${expected}; got ${JSON.stringify(got)}`);
}
