import { startTimer, type Timer } from '../platform.ts';
import { compile } from '../policies/index.ts';
import type { Ask, Op } from '../stores/store.ts';

const MAX_KEPT = 1_000;
const KEPT_MS = 10_000;
const RETRY_MS = 500;

/** An edit to send before `endMs` (by `performance.now()`). */
interface KeptEdit {
  readonly op: Op;
  readonly asks: readonly Ask[];
  readonly endMs: number;
}

/** Edits that wait for their store: at most 1000, for 10 s. */
export class KeptEdits {
  readonly #send: (op: Op, asks: readonly Ask[]) => unknown;
  #edits: KeptEdit[] = [];
  #timer: Timer | undefined;

  /** @param send - Throws or rejects if the store failed. */
  constructor(send: (op: Op, asks: readonly Ask[]) => unknown) {
    this.#send = send;
  }

  add(op: Op, asks: readonly Ask[]): void {
    this.#keep({ op, asks, endMs: performance.now() + KEPT_MS });
  }

  /** Sends all edits. Those that were certainly not sent, and releases, are kept. */
  sendAll(): void {
    const edits = this.#edits;
    this.#edits = [];
    for (const edit of edits) if (edit.endMs > performance.now()) void this.#sendOne(edit);
  }

  async #sendOne(edit: KeptEdit): Promise<void> {
    try {
      await this.#send(edit.op, edit.asks);
    } catch (error) {
      const { sent } = error as { readonly sent?: boolean };
      if (sent === false || isRelease(edit)) this.#keep(edit);
    }
  }

  #keep(edit: KeptEdit): void {
    if (this.#edits.length < MAX_KEPT) this.#edits.push(edit);
    if (this.#timer !== undefined) return;
    this.#timer = startTimer(RETRY_MS, () => {
      this.#timer = undefined;
      this.sendAll();
    });
  }
}

/** A release names its holder, so that doing it twice does no harm. */
function isRelease({ op, asks }: KeptEdit): boolean {
  return op === 'give' && asks.every(({ policy }) => compile(policy).holds);
}
