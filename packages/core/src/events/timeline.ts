import { startTimer, stopTimer } from '../platform.ts';
import { readSubject } from '../values/key.ts';
import { areSame, joinEvents, parseEvent, writeEvent, type LimitEvent } from './event.ts';

/** Where the timeline of an application is kept. */
export interface EventList {
  read(): Promise<{
    readonly nowMs: number;
    readonly lines: readonly { readonly name: string; readonly text: string }[];
  }>;
  put(lines: readonly { readonly name: string; readonly text: string; readonly sinceMs: number }[]): Promise<void>;
}

/** A change, as it is added: what is left out is null. */
export type NewEvent = Pick<LimitEvent, 'atMs' | 'what' | 'limit'> & {
  readonly [Name in keyof LimitEvent]?: LimitEvent[Name] | undefined;
};

export const MAX_EVENTS = 1_000;
export const EVENTS_KEPT_MS: number = 7 * 86_400_000;
const REFRESH_MS = 10_000;
/** How long a change waits for its entry. */
const PATIENCE_MS = 500;

/** What changed and what broke, the last thousand events of a week: of an application in Redis, else of this process. */
export class Timeline {
  readonly #list: EventList | undefined;
  /** The events that this process knows, by name. A list that lost them gets them back. */
  readonly #known = new Map<string, LimitEvent>();
  /** The texts that were read, so that none is parsed twice. */
  #texts: ReadonlyMap<string, string> = new Map();
  readonly #unsent = new Set<string>();
  /** The writing under way, and one more for all that is added meanwhile: each keeps Redis busy for some milliseconds. */
  #writing: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  /** Those that last, which no list has. */
  readonly #lasting = new Set<string>();
  #refreshedAtMs = -Infinity;
  /** The clock of the list less that of this process. */
  #aheadMs = 0;

  constructor(list?: EventList) {
    this.#list = list;
  }

  /** The events that this process knows, the last one first. */
  get events(): readonly LimitEvent[] {
    const sinceMs = Date.now() - EVENTS_KEPT_MS;
    const known = [...this.#known.values()].filter(({ atMs }) => atMs > sinceMs).sort((a, b) => a.atMs - b.atMs);
    const joined: LimitEvent[] = [];
    for (const event of known) {
      // The list of this process alone has each of its stores' outages once.
      const at = this.#list === undefined ? -1 : joined.findIndex((other) => areSame(other, event));
      if (at === -1) joined.push(event);
      else joined[at] = joinEvents(joined[at] as LimitEvent, event);
    }
    return joined.reverse();
  }

  /** The events of a limit and of a key, the last one first. Those of no key concern every key. */
  select(limit: string | undefined, key: string | undefined): readonly LimitEvent[] {
    const isOf = (event: LimitEvent): boolean =>
      limit === undefined || event.limit.split(', ').some((one) => [one, ...one.split(':')].includes(limit));
    const keys: readonly unknown[] = key === undefined ? [] : [null, key, readSubject(key)];
    const concerns = (given: string | null): boolean =>
      key === undefined ||
      keys.includes(given) ||
      (given?.endsWith('*') === true && key.startsWith(given.slice(0, -1)));
    return this.events.filter((event) => isOf(event) && concerns(event.key));
  }

  /** Adds an event. Resolves when it is written, or half a second has passed; what was not written is, later. Never rejects. */
  async add(event: NewEvent, name?: string): Promise<void> {
    const added = this.#keep(event, name);
    if (this.#list === undefined) return;
    this.#unsent.add(added);
    await inTime(this.#send());
  }

  /**
   * Adds an event that lasts until the returned function is called, with what is known then; with nothing, the event is
   * dropped. Until then, it is known to this process alone.
   */
  begin(event: NewEvent): (more?: Partial<LimitEvent>) => Promise<void> {
    const name = this.#keep(event);
    this.#lasting.add(name);
    return async (more) => {
      const lasted = { ...(this.#known.get(name) ?? event), ...more };
      if (more !== undefined) return this.#end(name, lasted);
      this.#lasting.delete(name);
      this.#known.delete(name);
    };
  }

  /** Reads what other processes have written, at most every ten seconds. Never rejects. */
  async follow(): Promise<void> {
    if (performance.now() - this.#refreshedAtMs < REFRESH_MS) return;
    await this.refresh().catch(() => undefined); // it is read again
  }

  /** Reads what other processes have written, and writes back what the list has lost. Rejects with StoreError. */
  async refresh(): Promise<void> {
    if (this.#list === undefined) return;
    this.#refreshedAtMs = performance.now();
    const { nowMs, lines } = await this.#list.read();
    this.#aheadMs = nowMs - Date.now();
    for (const { name, text } of lines) {
      const event = this.#texts.get(name) === text ? undefined : parseEvent(text);
      if (event !== undefined && !this.#unsent.has(name)) this.#known.set(name, event);
    }
    this.#texts = new Map(lines.map(({ name, text }) => [name, text]));
    const isFull = lines.length >= MAX_EVENTS;
    for (const [name, { atMs }] of this.#known) {
      if (this.#texts.has(name) || this.#unsent.has(name) || this.#lasting.has(name)) continue;
      if (isFull || atMs + EVENTS_KEPT_MS <= nowMs) this.#known.delete(name);
      else this.#unsent.add(name);
    }
    await this.#send();
  }

  /** Ends what lasted: with what other processes have seen of it, it is one event. */
  async #end(name: string, event: NewEvent): Promise<void> {
    if (this.#list !== undefined) await inTime(this.refresh());
    this.#lasting.delete(name); // not before, or it would be written as one that lasts
    // An outage was seen by the clock of this process alone.
    const aheadMs = event.what === 'outage' ? this.#aheadMs : 0;
    const [atMs, endAtMs] = [event.atMs + aheadMs, Number(event.endAtMs) + aheadMs];
    const whole = complete({ ...event, atMs, endAtMs });
    const isOther = (other: string): boolean => other !== name && !this.#lasting.has(other);
    const same = [...this.#known].find(([other, known]) => isOther(other) && areSame(known, whole));
    if (this.#list === undefined || same === undefined) return this.add(whole, name);
    this.#known.delete(name);
    this.#unsent.delete(name);
    return this.add(joinEvents(same[1], whole), same[0]);
  }

  #keep(event: NewEvent, name = `${String(event.atMs)}-${Math.random().toString(36).slice(2)}`): string {
    this.#known.set(name, complete(event));
    if (this.#known.size > MAX_EVENTS) {
      const [oldest] = [...this.#known].reduce((first, one) => (one[1].atMs < first[1].atMs ? one : first));
      this.#known.delete(oldest);
      this.#unsent.delete(oldest);
    }
    return name;
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
      const event = this.#known.get(name);
      return event === undefined ? [] : [[name, event] as const];
    });
    if (events.length === 0) return;
    await this.#list?.put(events.map(([name, event]) => ({ name, sinceMs: event.atMs, text: writeEvent(event) })));
    // One that was replaced meanwhile is still to be written.
    for (const [name, event] of events) if (this.#known.get(name) === event) this.#unsent.delete(name);
  }
}

function complete(event: NewEvent): LimitEvent {
  const { atMs, what, limit, endAtMs = null, key = null, before = null } = event;
  const { after = null, by = null, reason = null } = event;
  return { atMs, what, endAtMs, limit, key, before, after, by, reason };
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

const timelines = /* @__PURE__ */ new WeakMap<object, Timeline>();
/** That of all stores which are not Redis, and of policies that are kept elsewhere. */
const ofProcess = /* @__PURE__ */ new Timeline();

export function rememberTimeline(store: object, timeline: Timeline): void {
  timelines.set(store, timeline);
}

/** The timeline of a store in Redis; for any other one that of this process. */
export function timelineOf(store?: object): Timeline {
  return (store && timelines.get(store)) ?? ofProcess;
}
