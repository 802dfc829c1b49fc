import { StoreError } from '../errors.ts';
import { KINDS, type Kind } from '../program/kinds.ts';
import { type Nums, unused } from '../program/numbers.ts';
import { Held } from './perform.ts';

// The value of a key as every store writes it, in Lua too: the letter of the kind, 1 for this format, and
// comma-separated whole numbers. If the key is blocked, the first is negative: when the block ends. After a reset, a
// second and a third are negative: its instant, and until when the dropped units would have counted; without a block,
// the first is then -1. The others are the state.

/** Created when the first value is read: a bundle that reads none contains only the families of its policies. */
let rules: ReadonlyMap<string | undefined, Held['rule']> | undefined;

const COMMA = 44;
const MINUS = 45;
const ZERO = 48;
const NINE = 57;

/**
 * Reads a stored value.
 *
 * @throws StoreError with code SLUICE_STORE_KEY_FOREIGN for a value that no store has written.
 */
export function readText(key: string, text: string): Held {
  rules ??= new Map(Object.entries(KINDS).map(([kind, family]) => [kind, { kind: kind as Kind, family }]));
  const rule = rules.get(text[0]);
  const s = text[1] === '1' ? readNumbers(text, 2) : undefined;
  if (rule === undefined || s === undefined) throw foreignKey(key);
  const blocked = s.length > 0 && s[0] < 0 ? -(s.shift() ?? 0) : 0;
  const resetAt = s.length > 0 && s[0] < 0 ? -(s.shift() ?? 0) : 0;
  const resetEnd = s.length > 0 && s[0] < 0 ? -(s.shift() ?? 0) : 0;
  if (Math.max(blocked, resetAt, resetEnd) > Number.MAX_SAFE_INTEGER) throw foreignKey(key);
  if (s.length > 0 && !rule.family.reads(s)) throw foreignKey(key);
  return new Held(rule, s, blocked, resetAt, resetEnd);
}

/** Reads comma-separated whole numbers; undefined for anything else. A regular expression takes four times as long. */
function readNumbers(text: string, from: number): Nums | undefined {
  const numbers = unused();
  for (let i = from; i < text.length; i++) {
    const isNegative = text.charCodeAt(i) === MINUS;
    const first = isNegative ? i + 1 : i;
    let number = 0;
    for (i = first; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code < ZERO || code > NINE) break;
      number = number * 10 + (code - ZERO);
    }
    const isAtEnd = i === text.length;
    if (i === first || (!isAtEnd && (text.charCodeAt(i) !== COMMA || i === text.length - 1))) return undefined;
    numbers.push(isNegative ? -number : number);
  }
  return numbers;
}

export function writeText({ rule, s, blocked, reset }: Held): string {
  const marks = reset !== undefined ? [-Math.max(blocked, 1), -reset.at, -reset.endsAt] : blocked > 0 ? [-blocked] : [];
  return `${rule.kind}1${[...marks, ...s].join(',')}`;
}

/** The message does not show the subject, which may identify a client. */
export function foreignKey(key: string): StoreError {
  const shape = key.replace(/\{.*\}/s, '{...}');
  return new StoreError(
    'SLUICE_STORE_KEY_FOREIGN',
    `a key of the form ${shape} holds a value that Sluice did not write; delete it, or give the store its own prefix`,
  );
}
