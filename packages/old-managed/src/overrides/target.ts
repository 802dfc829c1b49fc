import { PolicyError } from '@sluice/old-core';
import { encodeSubject, shown } from '@sluice/old-core/spi';

/** Whom an override concerns: a key, as limiters are given it, or every key that begins with a prefix. */
export type OverrideTarget = string | { readonly prefix: string };

/** A checked target. */
export interface Target {
  readonly kind: 'key' | 'prefix';
  /** The subject of a key, or the prefix. */
  readonly text: string;
}

/** Longer keys are counted by their hash, which has no prefix of the key. */
const LONGEST_PREFIX = 256;
/** Begins the hash of a key. */
const HASHED = '#';

/** @throws PolicyError for a target that is neither a key nor a prefix. */
export function parseTarget(target: unknown): Target {
  if (typeof target === 'string' && target !== '') return { kind: 'key', text: encodeSubject(target) };
  const prefix = (target as { readonly prefix?: unknown } | undefined | null)?.prefix;
  const isPrefix = typeof prefix === 'string' && prefix !== '' && prefix.length <= LONGEST_PREFIX;
  if (isPrefix && typeof target === 'object' && !prefix.startsWith(HASHED)) return { kind: 'prefix', text: prefix };
  throw new PolicyError(
    'target',
    `target must be a key, such as "ann", or { prefix }, 1 to ${String(LONGEST_PREFIX)} characters that do not begin with "#", such as { prefix: "org-7:" }; got ${typeof target === 'string' ? shown(target) : `a prefix of ${shown(prefix)}`}`,
    'SLUICE_OPTION_INVALID',
  );
}

/** The name of an override's record in its source: `orders:key:ann`, `orders:prefix:org-7:`. No policy has one like it. */
export function recordNameOf(policy: string, { kind, text }: Target): string {
  return `${policy}:${kind}:${text}`;
}

/** The policy and the target of a record's name. Undefined for the name of a policy. */
export function readRecordName(name: string): (Target & { readonly policy: string }) | undefined {
  const policyEnd = name.indexOf(':');
  if (policyEnd === -1) return undefined;
  const kindEnd = name.indexOf(':', policyEnd + 1);
  const kind = name.slice(policyEnd + 1, kindEnd);
  if (kind !== 'key' && kind !== 'prefix') return undefined;
  return { policy: name.slice(0, policyEnd), kind, text: name.slice(kindEnd + 1) };
}
