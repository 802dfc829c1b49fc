import { StoreError } from '../errors.ts';
import { KINDS, type Kind } from '../program/kinds.ts';
import { type Nums, unused } from '../program/numbers.ts';
import { Held } from './perform.ts';

// The value of a key as every store writes it, in Lua too: the letter of the kind, 1 for this format, and whole numbers
// with commas between. If the key is blocked, the first is negative: the instant until which it is. The others are the
// state.

const VALUE = /^([fitlscgh])1((?:-?\d+(?:,-?\d+)*)?)$/;

/**
 * Reads what a value says.
 *
 * @throws StoreError with code SLUICE_STORE_KEY_FOREIGN for a value that no store has written.
 */
export function readText(key: string, text: string): Held {
  const [, letter, numbers] = VALUE.exec(text) ?? [];
  if (letter === undefined) throw foreignKey(key);
  const kind = letter as Kind;
  const s = numbers === '' ? unused() : (numbers?.split(',').map(Number) as Nums);
  const blocked = s.length > 0 && s[0] < 0 ? -(s.shift() ?? 0) : 0;
  if (blocked > Number.MAX_SAFE_INTEGER || (s.length > 0 && !KINDS[kind].reads(s))) throw foreignKey(key);
  return new Held(kind, s, blocked);
}

export function writeText({ kind, s, blocked }: Held): string {
  return `${kind}1${(blocked > 0 ? [-blocked, ...s] : s).join(',')}`;
}

/** The message does not show the subject, which may identify a client. */
export function foreignKey(key: string): StoreError {
  const shape = key.replace(/\{.*\}/s, '{...}');
  return new StoreError(
    'SLUICE_STORE_KEY_FOREIGN',
    `a key of the form ${shape} holds a value that Sluice did not write; delete it, or give the store a prefix of its own`,
  );
}
