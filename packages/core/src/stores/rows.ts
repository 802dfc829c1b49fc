import { valueThat, type Reader } from '../values/shape.ts';

/** The name of a table, with its schema if necessary. It becomes part of SQL statements. */
export const parseTable: Reader<string> = /* @__PURE__ */ valueThat(
  (given) => typeof given === 'string' && /^([a-z_][a-z0-9_]{0,39}\.)?[a-z_][a-z0-9_]{0,39}$/.test(given),
  'a name of lower-case letters, digits and _, such as "sluice" or "limits.sluice"',
);

/** A key as a text column holds it: without NUL, which databases reject and where drivers end a string. */
export function writeKey(prefix: string, key: string): string {
  return `${prefix}:${key}`.replace(/[\0\\]/g, (odd) => (odd === '\0' ? '\\0' : '\\\\'));
}
