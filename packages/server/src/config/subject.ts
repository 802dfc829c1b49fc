/** One entry of a descriptor, in Envoy's words. */
export interface DescriptorEntry {
  readonly key: string;
  readonly value: string;
}

const BAR = 124;
const PERCENT = 37;
const FIRST_SURROGATE = 0xd800;
const LAST_SURROGATE = 0xdfff;

/**
 * The key of the entries of a descriptor. No two lists of entries, and no two domains, share a key: parts are
 * joined as core's `joinParts` does it, except that they may be empty, and that lone surrogates, which UTF-8 cannot
 * tell apart, are escaped too.
 */
export function keyOf(domain: string, entries: readonly DescriptorEntry[]): string {
  let joined = escapePart(domain);
  for (const { key, value } of entries) joined += segmentOf(key, value);
  return joined;
}

/** The part of a key that one entry adds. */
export function segmentOf(key: string, value: string): string {
  return `|${escapePart(key)}|${escapePart(value)}`;
}

/** The part of one entry in a name of metrics. */
export function labelOf(key: string, value: string): string {
  return value === '' ? key : `${key}_${value}`;
}

/** Text without bars, and different for different text. */
export function escapePart(text: string): string {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === BAR || code === PERCENT || (code >= FIRST_SURROGATE && code <= LAST_SURROGATE)) {
      return text.replaceAll(/[|%\p{Surrogate}]/gu, written);
    }
  }
  return text;
}

function written(character: string): string {
  if (character === '|') return '%7C';
  return character === '%' ? '%25' : `%u${character.charCodeAt(0).toString(16)}`;
}
