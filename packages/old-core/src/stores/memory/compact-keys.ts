import type { DenialCount } from '../../engine/denial-count.ts';
import { Entry } from './entry.ts';

/** A key as text: its states, until when it is denied, when it resets, and the rest where there is any. */
type Written = readonly [
  states: readonly unknown[],
  deniedUntilMs: number,
  resetAtMs: number,
  rest?: readonly [
    blockedUntilMs: number,
    isBlockedByHand: boolean,
    heldUntilMs: number,
    version: number,
    denials: DenialCount | null,
  ],
];

const LEAST_KEYS = 8_192;
/** On average: a generation with more characters is full too. */
const CHARACTERS_PER_KEY = 256;

/**
 * Keys for which there is no room among the others: each is a text of some 70 characters under the hash of its subject,
 * and nothing else. They are exact: a key that is requested again is taken out, and goes on as it was.
 *
 * There are two generations. When the newer one is full, the older one is forgotten, and the newer one becomes the
 * older one: so the last `most` keys are remembered, and up to twice as many.
 */
export class CompactKeys {
  readonly most: number;
  #newer = new Generation();
  #older = new Generation();

  constructor(most: number) {
    this.most = Math.max(Math.ceil(most), LEAST_KEYS);
  }

  get size(): number {
    return this.#newer.texts.size + this.#older.texts.size;
  }

  add(hash: number, entry: Entry): void {
    const newer = this.#newer;
    const text = written(entry);
    newer.texts.set(hash, text);
    newer.characters += text.length;
    newer.endsAtMs = Math.max(newer.endsAtMs, entry.resetAtMs, entry.pinnedUntilMs);
    if (newer.texts.size < this.most && newer.characters < this.most * CHARACTERS_PER_KEY) return;
    this.#older = newer;
    this.#newer = new Generation();
  }

  /** Takes a key out; undefined where it is not held. */
  take(hash: number, subject: string, keySuffix: string): Entry | undefined {
    const text = this.#newer.take(hash) ?? this.#older.take(hash);
    return text === undefined ? undefined : read(text, subject, keySuffix);
  }

  /** Forgets generations of which all keys have ended by an instant. */
  sweep(endedByMs: number): void {
    if (this.#newer.hasEnded(endedByMs)) this.#newer = new Generation();
    if (this.#older.hasEnded(endedByMs)) this.#older = new Generation();
  }
}

class Generation {
  readonly texts = new Map<number, string>();
  characters = 0;
  /** The latest end of a key. */
  endsAtMs = 0;

  take(hash: number): string | undefined {
    const text = this.texts.get(hash);
    if (text === undefined) return undefined;
    this.texts.delete(hash);
    this.characters -= text.length;
    return text;
  }

  hasEnded(byMs: number): boolean {
    return this.texts.size > 0 && this.endsAtMs <= byMs;
  }
}

function written(entry: Entry): string {
  const { states, deniedUntilMs, resetAtMs, blockedUntilMs, isBlockedByHand, heldUntilMs, version, denials } = entry;
  const hasRest = blockedUntilMs > 0 || heldUntilMs > 0 || version > 0 || denials !== undefined;
  const text: Written = hasRest
    ? [states, deniedUntilMs, resetAtMs, [blockedUntilMs, isBlockedByHand, heldUntilMs, version, denials ?? null]]
    : [states, deniedUntilMs, resetAtMs];
  return JSON.stringify(text);
}

function read(text: string, subject: string, keySuffix: string): Entry {
  const [states, deniedUntilMs, resetAtMs, rest] = JSON.parse(text) as Written;
  // JSON has null where a policy has no state.
  const entry = new Entry(
    subject,
    keySuffix,
    states.map((state) => state ?? undefined),
  );
  entry.deniedUntilMs = deniedUntilMs;
  entry.resetAtMs = resetAtMs;
  if (rest !== undefined) {
    const [blockedUntilMs, isBlockedByHand, heldUntilMs, version, denials] = rest;
    entry.blockedUntilMs = blockedUntilMs;
    if (isBlockedByHand) entry.blockedByHandUntilMs = blockedUntilMs;
    entry.heldUntilMs = heldUntilMs;
    entry.version = version;
    entry.denials = denials ?? undefined;
  }
  return entry;
}
