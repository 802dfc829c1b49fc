import { algorithms } from '../algorithms/index.ts';
import type { AnyAlgorithm } from '../algorithms/registry.ts';
import { LAYOUT, SOURCE_SCHEMA, subjectOf } from '../engine/key.ts';
import { externalStateKey, redisKey } from '../stores/redis/redis-key.ts';

/** The parts of a key in Redis. */
export interface KeyText {
  /** The text between the braces: `#` and a hash if the key is long, has braces or is not well-formed. */
  readonly subject: string;
  /** The name of the limiter, or of the managed policy. */
  readonly owner: string;
  /** Whether `owner` is a managed policy, whose keys several limiters may share. */
  readonly isManaged: boolean;
  /**
   * Name and algorithm of each policy. Undefined for a managed policy, and if the key holds a digest of a long list.
   */
  readonly policies: readonly { readonly name: string; readonly algorithm: AnyAlgorithm }[] | undefined;
}

const SHAPE = new RegExp(`^\\{([^{}]+)\\}:([A-Za-z][A-Za-z0-9._-]{0,63}):${LAYOUT}([^:]+)$`);

/** Reads a key that ends with the result of `keySuffixOf`. Undefined if it has another layout. */
export function readKeyText(key: string, prefix: string): KeyText | undefined {
  if (!key.startsWith(`${prefix}:`)) return undefined;
  const [, subject, owner, schema] = SHAPE.exec(key.slice(prefix.length + 1)) ?? [];
  if (subject === undefined || owner === undefined || schema === undefined) return undefined;
  const isManaged = schema === SOURCE_SCHEMA;
  if (isManaged || schema.startsWith('#')) return { subject, owner, isManaged, policies: undefined };
  const policies = schema.split(',').flatMap((item) => {
    const algorithm = algorithms.find(({ kind }) => kind === item[0]);
    const isNamed = item.length > 2 && item[1] === '.';
    return algorithm === undefined || !(isNamed || item.length === 1)
      ? []
      : [{ name: isNamed ? item.slice(2) : owner, algorithm }];
  });
  return policies.length === schema.split(',').length ? { subject, owner, isManaged, policies } : undefined;
}

/** The key that holds an external state. `index`: that of the policy under its key, from 0. */
export function externalStateKeyOf(key: string, { kind }: AnyAlgorithm, index: number): string {
  return externalStateKey(key, kind, String(index + 1));
}

/** The key whose external state another key holds, as for slidingLog and concurrency. Undefined for any other key. */
export function ownerOfExternalState(key: string, prefix: string): string | undefined {
  const [, owner = '', kind] = /^(.*):([a-z])\d+$/s.exec(key) ?? [];
  const hasExternalState = algorithms.some((algorithm) => algorithm.kind === kind && algorithm.summarize !== undefined);
  return hasExternalState && readKeyText(owner, prefix) !== undefined ? owner : undefined;
}

/**
 * Whether a text is a whole key in Redis, and not a key as an application writes it: it begins with the prefix and
 * has a subject in braces.
 */
export function isWholeKey(text: string, prefix: string): boolean {
  return text.startsWith(`${prefix}:{`) && text.includes('}', prefix.length + 2);
}

/**
 * The pattern for `SCAN` that matches every key of a subject, for all limiters and managed policies.
 *
 * @throws TypeError `SLUICE_KEY_INVALID` if the subject is invalid.
 */
export function keyPattern(subject: string, prefix: string): string {
  return `${literalPattern(redisKey(prefix, subjectOf(subject), ''))}:*`;
}

/** The pattern for `SCAN` that matches every key whose subject contains a text, where no hash replaces the subject. */
export function containingPattern(text: string, prefix: string): string {
  return `${literalPattern(prefix)}:{*${literalPattern(text)}*}:*`;
}

/** The text between the braces of a key; undefined where there is none. */
export function subjectOfKey(key: string, prefix: string): string | undefined {
  return isWholeKey(key, prefix) ? key.slice(prefix.length + 2, key.indexOf('}')) : undefined;
}

/** A text as a pattern for `SCAN` that matches only itself. */
export function literalPattern(text: string): string {
  return text.replace(/[\\*?[\]]/g, '\\$&');
}
