import { PolicyError, shown } from '../errors.ts';

/**
 * Checks an option that is true by default.
 *
 * @throws PolicyError `SLUICE_OPTION_INVALID` for anything but true and false.
 */
export function parseSwitch(given: unknown = true, field: string): boolean {
  if (typeof given === 'boolean') return given;
  throw new PolicyError(field, `${field} must be true or false, got ${shown(given)}`, 'SLUICE_OPTION_INVALID');
}
