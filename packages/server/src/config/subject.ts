/** One entry of a descriptor, in Envoy's words. */
export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

/**
 * The key of the entries of a descriptor. No two lists of entries, and no two domains, share a key: parts are joined as
 * in core's `joinParts`, except that they may be empty.
 */
export function makeKey(domain: string, entries: readonly DescriptorEntry[]): string {
  let joined = escapePart(domain);
  for (const { key, value } of entries) joined += makeSegment(key, value);
  return joined;
}

/** The part of a key that one entry adds. */
export function makeSegment(key: string, value: string): string {
  return `|${escapePart(key)}|${escapePart(value)}`;
}

/** The part of a metric name that one entry adds. */
export function makeLabel(key: string, value: string): string {
  return value === '' ? key : `${key}_${value}`;
}

/** Escapes bars, so that different texts stay different. */
export function escapePart(text: string): string {
  return /[|%]/.test(text) ? text.replaceAll('%', '%25').replaceAll('|', '%7C') : text;
}
