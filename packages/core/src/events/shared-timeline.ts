import { within } from '../platform.ts';
import { parseEvent, writeEvent } from './event.ts';
import { EVENTS_KEPT_MS, MAX_EVENTS, Timeline, type NewEvent } from './timeline.ts';
import type { SharedLines } from './shared-lines.ts';

const REFRESH_MS = 10_000;
/** How long a change waits for its entry. */
const PATIENCE_MS = 500;

/** The events of an application, in a list that its processes share. A list that lost them gets them back. */
export class SharedTimeline extends Timeline {
  readonly #list: Pick<SharedLines, 'read' | 'put'>;
  /** The texts that were read, so that none is parsed twice. */
  #texts: ReadonlyMap<string, string> = new Map();
  readonly #unsent = new Set<string>();
  /** The writings, one after the other: each takes all that is unsent then, so that most have nothing to do. */
  #writing: Promise<void> = Promise.resolve();
  #refreshedAtMs = -Infinity;

  constructor(list: Pick<SharedLines, 'read' | 'put'>) {
    super();
    this.#list = list;
  }

  /** Adds an event. Resolves when it is written, or half a second has passed; what was not written is, later. */
  override async add(event: NewEvent, name?: string): Promise<void> {
    this.#unsent.add(this.keep(event, name));
    await inTime(this.#send());
  }

  override async follow(): Promise<void> {
    if (performance.now() - this.#refreshedAtMs < REFRESH_MS) return;
    await this.refresh().catch(() => undefined); // it is read again
  }

  /** Reads what other processes have written, and writes back what the list has lost. Rejects with StoreError. */
  override async refresh(): Promise<void> {
    this.#refreshedAtMs = performance.now();
    const { nowMs, lines } = await this.#list.read();
    for (const { name, text } of lines) {
      const event = this.#texts.get(name) === text ? undefined : parseEvent(text);
      if (event !== undefined && !this.#unsent.has(name) && !this.lasting.has(name)) this.known.set(name, event);
    }
    this.#texts = new Map(lines.map(({ name, text }) => [name, text]));
    const isFull = lines.length >= MAX_EVENTS;
    for (const [name, { atMs }] of this.known) {
      if (this.#texts.has(name) || this.#unsent.has(name) || this.lasting.has(name)) continue;
      if (isFull || atMs + EVENTS_KEPT_MS <= nowMs) this.known.delete(name);
      else this.#unsent.add(name);
    }
    await this.#send();
  }

  #send(): Promise<void> {
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(): Promise<void> {
    const events = [...this.#unsent].flatMap((name) => {
      const event = this.known.get(name);
      return event === undefined ? [] : [[name, event] as const];
    });
    if (events.length === 0) return;
    await this.#list.put(events.map(([name, event]) => ({ name, sinceMs: event.atMs, text: writeEvent(event) })));
    // One that was replaced meanwhile is still to be written.
    for (const [name, event] of events) if (this.known.get(name) === event) this.#unsent.delete(name);
  }
}

/** Waits for half a second. What was not sent is sent with the next event. */
async function inTime(work: Promise<void>): Promise<void> {
  await within(PATIENCE_MS, work, () => new Error('late')).catch(() => undefined);
}
