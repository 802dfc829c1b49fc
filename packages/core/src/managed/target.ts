import { PolicyError, shown } from '../errors.ts';
import { readSubject } from '../values/key.ts';

/** What an override concerns: a key, as limiters are given it, or every key that begins with a prefix. */
export type OverrideTarget = string | { readonly prefix: string };

/** A checked target. */
export interface Target {
  readonly kind: 'key' | 'prefix';
  /** The subject of a key, or the prefix. */
  readonly text: string;
}

const MAX_PREFIX = 256;
/** A long key as it is stored and listed: see `readSubject`. */
const HASH = /^#[\w-]{22}$/;
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** A key may be given by its hash. @throws PolicyError for a target that is neither a key nor a prefix. */
export function parseTarget(given: unknown): Target {
  if (typeof given === 'string' && given !== '')
    return { kind: 'key', text: HASH.test(given) ? given : readSubject(given) };
  const prefix = (given as { readonly prefix?: unknown } | null | undefined)?.prefix;
  const isPrefix = typeof prefix === 'string' && prefix !== '' && prefix.length <= MAX_PREFIX;
  if (isPrefix && !LONE_SURROGATE.test(prefix)) return { kind: 'prefix', text: prefix };
  const expected = `a key, such as "ann", or { prefix }, 1 to ${String(MAX_PREFIX)} characters, such as { prefix: "org-7:" }`;
  const got = prefix === undefined ? shown(given) : `a prefix of ${shown(prefix)}`;
  throw new PolicyError('target', `target must be ${expected}, got ${got}`, 'SLUICE_OPTION_INVALID');
}

/** The target as it is written: a long key as `#` and its hash. */
export function writeTarget({ kind, text }: Target): OverrideTarget {
  return kind === 'key' ? text : { prefix: text };
}

/** The name of an override's record: `orders:key:ann`, `orders:prefix:org-7:`. The name of a policy has no colon. */
export function writeRecordName(policy: string, { kind, text }: Target): string {
  return `${policy}:${kind}:${text}`;
}

/** The policy of a record, and the target if it is an override. */
export function readRecordName(name: string): { readonly policy: string; readonly target: Target | undefined } {
  const [, policy = name, kind, text = ''] = /^([^:]*):(key|prefix):(.+)$/s.exec(name) ?? [];
  return { policy, target: kind === undefined ? undefined : { kind: kind as Target['kind'], text } };
}
