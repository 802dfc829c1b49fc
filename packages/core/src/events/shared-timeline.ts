import { startTimer, stopTimer } from '../platform.ts';
import { areSame, joinEvents, parseEvent, writeEvent, type LimitEvent } from './event.ts';
import { complete, EVENTS_KEPT_MS, MAX_EVENTS, Timeline, type NewEvent } from './timeline.ts';
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
  /** The writing under way, and one more for all that is added meanwhile: each keeps Redis busy for some milliseconds. */
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #refreshedAtMs = -Infinity;
  /** The clock of the list less that of this process. */
  #aheadMs = 0;

  constructor(list: Pick<SharedLines, 'read' | 'put'>) {
    super();
    this.#list = list;
  }

  /** What several processes saw is one event. */
  override get events(): readonly LimitEvent[] {
    const joined: LimitEvent[] = [];
    for (const event of this.inOrder()) {
      const at = joined.findIndex((other) => areSame(other, event));
      if (at === -1) joined.push(event);
      else joined[at] = joinEvents(joined[at] as LimitEvent, event);
    }
    return joined.reverse();
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
    this.#aheadMs = nowMs - Date.now();
    for (const { name, text } of lines) {
      const event = this.#texts.get(name) === text ? undefined : parseEvent(text);
      if (event !== undefined && !this.#unsent.has(name)) this.known.set(name, event);
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

  /** With what other processes have seen of it, it is one event. */
  protected override async end(name: string, event: NewEvent): Promise<void> {
    await inTime(this.refresh());
    this.lasting.delete(name); // not before, or it would be written as one that lasts
    // An outage was seen by the clock of this process alone.
    const aheadMs = event.what === 'outage' ? this.#aheadMs : 0;
    const [atMs, endAtMs] = [event.atMs + aheadMs, Number(event.endAtMs) + aheadMs];
    const whole = complete({ ...event, atMs, endAtMs });
    const isOther = (other: string): boolean => other !== name && !this.lasting.has(other);
    const same = [...this.known].find(([other, known]) => isOther(other) && areSame(known, whole));
    if (same === undefined) return this.add(whole, name);
    this.known.delete(name);
    this.#unsent.delete(name);
    return this.add(joinEvents(same[1], whole), same[0]);
  }

  #send(): Promise<void> {
    if (this.#writing === undefined) return this.#start();
    return (this.#next ??= inTime(this.#writing).then(() => {
      this.#next = undefined;
      return this.#start();
    }));
  }

  #start(): Promise<void> {
    const own = this.#write().finally(() => {
      if (this.#writing === own) this.#writing = undefined;
    });
    return (this.#writing = own);
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

/** Waits for half a second. Never rejects. */
async function inTime(work: Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = startTimer(PATIENCE_MS, resolve);
    work
      .catch(() => undefined) // what was not sent is sent with the next event
      .finally(() => {
        stopTimer(timer);
        resolve();
      });
  });
}
