import { algorithms, type AnyAlgorithm } from '../algorithms/index.ts';
import { checkSubject, encodeSubject } from '../key.ts';

/** A key in Redis, taken apart. */
export interface KeyText {
  /** As it stands between the braces: `#` and a digest where it is long or not plain. */
  readonly subject: string;
  /** The limiter or, of a managed policy, the policy. */
  readonly owner: string;
  /** Managed: shared by whoever uses that policy. */
  readonly isManaged: boolean;
  /** Name and algorithm of each policy; undefined of a managed one, and where a long list stands as its digest. */
  readonly policies: readonly { readonly name: string; readonly algorithm: AnyAlgorithm }[] | undefined;
}

const SHAPE = /^\{([^{}]+)\}:([A-Za-z][A-Za-z0-9._-]{0,63}):1([^:]+)$/;
const MANAGED = 'm';

/** Takes apart what `keyScope` put together; undefined for what is no key of these layouts. */
export function readKeyText(key: string, prefix: string): KeyText | undefined {
  if (!key.startsWith(`${prefix}:`)) return undefined;
  const [, subject, owner, schema] = SHAPE.exec(key.slice(prefix.length + 1)) ?? [];
  if (subject === undefined || owner === undefined || schema === undefined) return undefined;
  const isManaged = schema === MANAGED;
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

/** Where the rest of a long state lies: that of the policy with this place, counted from 0, under a key. */
export function detailKeyOf(key: string, { kind }: AnyAlgorithm, place: number): string {
  return `${key}:${kind}${String(place + 1)}`;
}

/** The key whose details a key holds: what those of slidingLog and concurrency are named after. Undefined for any other. */
export function ownerOfDetails(key: string, prefix = 'sluice'): string | undefined {
  const [, owner = '', kind] = /^(.*):([a-z])\d+$/s.exec(key) ?? [];
  const isApart = algorithms.some((algorithm) => algorithm.kind === kind && algorithm.outline !== undefined);
  return isApart && readKeyText(owner, prefix) !== undefined ? owner : undefined;
}

/**
 * Whether a text is a whole key rather than what an application limits: it begins with the prefix and has a subject in
 * braces.
 */
export function isWholeKey(text: string, prefix = 'sluice'): boolean {
  return text.startsWith(`${prefix}:{`) && text.includes('}', prefix.length + 2);
}

/**
 * The pattern that matches every key of a subject, whatever limiter or managed policy it belongs to, as `SCAN` takes it.
 *
 * @throws TypeError `SLUICE_KEY_INVALID` for what is no subject.
 */
export function keyPattern(subject: string, prefix = 'sluice'): string {
  checkSubject(subject);
  return `${`${prefix}:{${encodeSubject(subject)}}`.replace(/[\\*?[\]]/g, '\\$&')}:*`;
}
