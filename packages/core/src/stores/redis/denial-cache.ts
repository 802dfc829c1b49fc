import { compile } from '../../policies/index.ts';
import { ALLOWED, BLOCKED, NEXT_AFTER, RESET_AFTER, RETRY_AFTER } from '../../program/decide.ts';
import type { Answer, Ask, Figures, Op } from '../store.ts';
import { areEqual } from './call.ts';

const MAX_ENTRIES = 10_000;
const MAX_AGE_MS = 1000;
/** The number of hash cells for keys. If two keys share a cell, entries may be dropped early, which is harmless. */
const CELLS = 32_768;

/** A waiting request: the store calls one of the two functions, once. */
export interface Waiting {
  readonly op: Op;
  readonly asks: readonly Ask[];
  /** Until when the caller waits, by `performance.now()`. */
  readonly endMs: number;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

export type Send = (waiting: Waiting) => void;

interface Entry {
  readonly asks: readonly Ask[];
  readonly answer: Answer;
  /** When it was answered, and until when it may be used, by `performance.now()`. */
  readonly answeredMs: number;
  readonly endMs: number;
  /** How many writes there were before the request. */
  readonly writes: number;
}

/**
 * Denials of the last second, so that requests that are denied again need no call. Each is for one list of keys, policies
 * and costs. A reset, refund or unblock by another process is noticed up to a second late.
 */
export class DenialCache {
  /** By keys and costs. */
  readonly #entries = new Map<string, Entry>();
  /** For each cell, the number of this process's last write. */
  readonly #written = new Uint32Array(CELLS);
  #writes = 0;

  /** Answers a request: with a remembered denial, or with the store's answer. */
  perform(op: Op, asks: readonly Ask[], send: Send, endMs = Infinity): Answer | Promise<Answer> {
    const isDecision = op === 'take' || op === 'try';
    const denial = isDecision ? this.#find(asks) : undefined;
    if (denial !== undefined) return denial;
    const sentMs = performance.now();
    const isEdit = !isDecision && op !== 'peek';
    if (isEdit) this.#wrote(asks);
    const writes = this.#writes;
    return new Promise((resolve, reject) => {
      send({
        op,
        asks,
        endMs,
        resolve: (answer) => {
          if (isEdit) this.#wrote(asks);
          else if (isDecision && answer.figures.every(isAllowed)) {
            if (this.#entries.size > 0) this.#wrote(asks); // a denial with another cost has other waits now
          } else if (op === 'take') this.#remember(asks, answer, sentMs, writes); // not of `try`, which starts no block
          resolve(answer);
        },
        reject: (error) => {
          if (isEdit) this.#wrote(asks);
          // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
          reject(error);
        },
      });
    });
  }

  /** Called before sending a request that may make more available, and again once it is answered or has failed. */
  #wrote(asks: readonly Ask[]): void {
    this.#writes++;
    for (const { key } of asks) this.#written[findCell(key)] = this.#writes;
  }

  /** The denial of a request that the store denied within the last second, as of now. */
  #find(asks: readonly Ask[]): Answer | undefined {
    if (this.#entries.size === 0) return undefined;
    const name = makeName(asks);
    const entry = this.#entries.get(name);
    if (entry === undefined || asks.some(({ uncached }) => uncached === true)) return undefined;
    const nowMs = performance.now();
    if (areEqual(entry.asks, asks) && nowMs < entry.endMs && !this.#isWritten(entry)) {
      return countDown(entry.answer, Math.floor(nowMs - entry.answeredMs));
    }
    this.#entries.delete(name); // also if a policy is another object now
    return undefined;
  }

  /** Remembers a denial, unless one of its keys was written since it was sent. */
  #remember(asks: readonly Ask[], answer: Answer, sentMs: number, writes: number): void {
    let maxAgeMs = MAX_AGE_MS;
    for (let i = 0; i < asks.length; i++) {
      const { policy, uncached } = asks[i] as Ask;
      if (uncached === true || compile(policy).holds) return;
      const figures = answer.figures[i] as Figures;
      const retryAfterMs = figures[RETRY_AFTER] as number;
      // A millisecond less, because the store's clock shows whole milliseconds.
      if (!isAllowed(figures) && retryAfterMs > 0) maxAgeMs = Math.min(maxAgeMs, retryAfterMs - 1);
    }
    const entry = { asks, answer, answeredMs: performance.now(), endMs: sentMs + maxAgeMs, writes };
    if (entry.endMs <= entry.answeredMs || this.#isWritten(entry)) return;
    const name = makeName(asks);
    this.#entries.delete(name); // so that the new one is the newest
    this.#entries.set(name, entry);
    if (this.#entries.size > MAX_ENTRIES) this.#entries.delete(this.#entries.keys().next().value as string);
  }

  #isWritten({ asks, writes }: Entry): boolean {
    return asks.some(({ key }) => (this.#written[findCell(key)] as number) > writes);
  }
}

function isAllowed(figures: Figures): boolean {
  return figures[ALLOWED] === 1;
}

function makeName(asks: readonly Ask[]): string {
  const [first] = asks as readonly [Ask];
  if (asks.length === 1 && first.cost === 1) return first.key;
  return asks.map(({ key, cost }) => `${String(cost)} ${key}`).join('\n');
}

/** The answer some milliseconds later. Its waits are at least as long as the store's would be. */
function countDown({ atMs, figures }: Answer, ms: number): Answer {
  return {
    atMs: atMs + ms,
    figures: figures.map((all) => {
      const later = [...all];
      for (const place of [RETRY_AFTER, RESET_AFTER, NEXT_AFTER, BLOCKED]) {
        const left = later[place] as number;
        if (left > 0) later[place] = Math.max(left - ms, 1);
      }
      return later;
    }),
    source: 'cache',
  };
}

/** FNV-1a. */
function findCell(key: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  return (hash ^ (hash >>> 16)) & (CELLS - 1);
}
