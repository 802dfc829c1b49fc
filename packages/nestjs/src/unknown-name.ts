import { PolicyError } from '@sluice/old-core';

/** The error for a name that no limit has, with the known names. */
export function unknownName(field: string, what: string, names: readonly string[]): PolicyError {
  const known = names.length === 0 ? 'there are none' : `known: ${[...new Set(names)].join(', ')}`;
  return new PolicyError(field, `${what}; ${known}`, 'SLUICE_OPTION_INVALID');
}
