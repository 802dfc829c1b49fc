import { PolicyError } from '@sluice/core';

/** The error about a name that no limit has, with those that there are. */
export function unknownName(field: string, what: string, names: readonly string[]): PolicyError {
  const known = names.length === 0 ? 'there are none' : `known: ${[...new Set(names)].join(', ')}`;
  return new PolicyError(field, `${what}; ${known}`, 'SLUICE_OPTION_INVALID');
}
