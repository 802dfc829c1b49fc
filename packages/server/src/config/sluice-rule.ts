import type { Policy } from '@sluice/core';
import type { Limit } from '@sluice/core/spi';
import type { MakeLimit } from '../limits.ts';
import { isName, limitAt, readPolicy, type FilePolicy } from './policy-value.ts';
import type { YamlValue } from './yaml-value.ts';

const UNNAMED = 'limit';
const SLOTS =
  "concurrency holds a slot until it is released, and Envoy's protocol has no release; write the policy under limits:, and use /v1/acquire and /v1/release";

/** The value of `sluice` of a descriptor. */
export interface SluiceRule {
  readonly limit: Limit;
  /** The policies as text. */
  readonly written: string;
}

/**
 * Reads `sluice`: a policy, a list of several with a name each, or a managed one. Undefined where it cannot be used,
 * which is reported.
 *
 * @param names - The name of a policy without one is the first of these that can be: it is part of the key.
 */
export function readSluice(
  value: YamlValue,
  names: readonly (string | undefined)[],
  makeLimit: MakeLimit,
): SluiceRule | undefined {
  const name = names.find((one) => one !== undefined && isName(one)) ?? UNNAMED;
  const read = value.isList ? readList(value) : readPolicy(value, { where: 'sluice', name, mayName: true });
  if (read === undefined) return undefined;
  const limit = limitAt(value, read.policy, makeLimit, SLOTS);
  return limit && { limit, written: read.written };
}

/** Reads a list of policies. */
function readList(value: YamlValue): Pick<FilePolicy, 'policy' | 'written'> | undefined {
  const items = value.items('sluice', 'policies');
  const read = items.map((item, i) => {
    const where = `sluice[${String(i)}]`;
    const one = readPolicy(item, { where, name: undefined, mayName: true });
    if (one?.managed === undefined) return one;
    item.problem('a managed policy stands alone: it cannot be one of a list');
    return undefined;
  });
  if (items.length === 0) value.problemAtName('sluice must hold a policy, or a list of them, got an empty list');
  const policies = read.flatMap((one): readonly Policy[] => (one?.base === undefined ? [] : [one.base]));
  if (policies.length === 0 || policies.length < items.length) return undefined;
  return { policy: policies, written: read.map((one) => one?.written).join(' and ') };
}
