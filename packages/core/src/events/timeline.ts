import { within } from '../platform.ts';
import { readSubject } from '../values/key.ts';
import { parseEvent, writeEvent, type ChangeEvent, type LimitEvent } from './event.ts';
import type { SharedLines } from './shared-lines.ts';

/** A change to be added: fields that are left out become null. */
export type NewEvent = Pick<LimitEvent, 'atMs' | 'what' | 'limit'> & {
  readonly [Name in keyof LimitEvent]?: LimitEvent[Name] | undefined;
};

export const MAX_EVENTS = 1_000;
const MAX_IN_NAME = 300;
/**
 * The key of the list in Redis, after the prefix. It is in the slot of the managed policies, because changes to them
 * write it too.
 */
export const EVENTS_KEY = '{#policies}:events';
export const EVENTS_KEPT_MS: number = 7 * 86_400_000;
const REFRESH_MS = 10_000;
/** How long a change waits for its event to be written. */
const PATIENCE_MS = 500;

/**
 * What changed and what broke: the last thousand events of a week, of this process or of an application whose processes
 * share a list. Events that the list has lost are written back.
 */
export class Timeline {
  readonly #list: Pick<SharedLines, 'read' | 'put'> | undefined;
  /** The events that this process knows, by name. */
  readonly #known = new Map<string, LimitEvent>();
  /** Those that last. */
  readonly #lasting = new Set<string>();
  /** The strings read so far, so that none is parsed twice. */
  #texts: ReadonlyMap<string, string> = new Map();
  readonly #unsent = new Set<string>();
  /** Writes run one after another. Each sends everything that is unsent, so most have nothing to do. */
  #writing: Promise<void> = Promise.resolve();
  #refreshedAtMs = -Infinity;

  constructor(list?: Pick<SharedLines, 'read' | 'put'>) {
    this.#list = list;
  }

  /** The events that this process knows, newest first. */
  get events(): readonly LimitEvent[] {
    const sinceMs = Date.now() - EVENTS_KEPT_MS;
    const kept = [...this.#known].filter(([, { atMs }]) => atMs > sinceMs);
    // Names tell the order in one millisecond.
    return kept.sort(([a, one], [b, other]) => other.atMs - one.atMs || (a < b ? 1 : -1)).map(([, event]) => event);
  }

  /** The events of a limit and of a key, newest first. Events without a key concern every key. */
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

  /**
   * What the ask of an edit contains, so that a store in Redis writes the event with the edit: the name with which {@link
   * add} completes it, and its text.
   */
  prepare(event: Omit<NewEvent, 'atMs'>): readonly [name: string, text: string] {
    return [makeEventName(), writeEvent(complete(event)).slice(1)];
  }

  /** Adds an event. Resolves when it is written, or after half a second; then it is written later. */
  async add(event: NewEvent, name?: string): Promise<void> {
    const kept = this.keep(event, name);
    if (this.#list === undefined) return;
    this.#unsent.add(kept);
    await within(PATIENCE_MS, this.#send(), () => new Error('late')).catch(() => undefined);
  }

  /**
   * Adds an event that lasts until the returned function is called with the remaining fields; called without them, it
   * drops the event. Until then, only this process knows the event.
   */
  begin(event: NewEvent): (more?: Partial<LimitEvent>) => Promise<void> {
    // If several processes see something begin within one minute, it is one event.
    const limit = encodeURIComponent(event.limit).slice(0, MAX_IN_NAME);
    const name = this.keep(event, `${event.what}-${String(Math.round(event.atMs / 60_000))}-${limit}`);
    this.#lasting.add(name);
    return async (more) => {
      this.#lasting.delete(name);
      if (more === undefined) this.#known.delete(name);
      else await this.add({ ...(this.#known.get(name) ?? event), ...more }, name);
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
    for (const { name, text } of lines) {
      const event = this.#texts.get(name) === text ? undefined : parseEvent(text);
      if (event === undefined || this.#unsent.has(name) || this.#lasting.has(name)) continue;
      // One that is ahead of the server, by a wrong clock or written by others, would stay longer than those that follow.
      this.#known.set(name, { ...event, atMs: Math.min(event.atMs, nowMs) });
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

  #send(): Promise<void> {
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  async #write(): Promise<void> {
    const events = [...this.#unsent].flatMap((name) => {
      const event = this.#known.get(name);
      return event === undefined ? [] : [[name, event] as const];
    });
    if (events.length === 0) return;
    await this.#list?.put(events.map(([name, event]) => ({ name, sinceMs: event.atMs, text: writeEvent(event) })));
    // An event that was replaced meanwhile still has to be written.
    for (const [name, event] of events) if (this.#known.get(name) === event) this.#unsent.delete(name);
  }

  /** Adds an event that its change writes. Returns its name. */
  keep(event: NewEvent, name: string = makeEventName()): string {
    this.#known.set(name, { atMs: event.atMs, ...complete(event) });
    if (this.#known.size > MAX_EVENTS) {
      const [oldest] = [...this.#known].reduce((first, one) => (one[1].atMs < first[1].atMs ? one : first));
      this.#known.delete(oldest);
    }
    return name;
  }
}

let names = 0;
/** Later names of a process are greater. */
export function makeEventName(): string {
  return `${String(Date.now())}-${String(names++).padStart(9, '0')}-${Math.random().toString(36).slice(2)}`;
}

function complete(event: Omit<NewEvent, 'atMs'>): ChangeEvent {
  const { what, limit, endAtMs = null, key = null, before = null } = event;
  const { after = null, by = null, reason = null } = event;
  return { what, endAtMs, limit, key, before, after, by, reason };
}

const timelines = /* @__PURE__ */ new WeakMap<object, Timeline>();
/** The timeline of all stores other than Redis, and of policies kept elsewhere. */
const PROCESS_TIMELINE = /* @__PURE__ */ new Timeline();

export function rememberTimeline(store: object, timeline: Timeline): void {
  timelines.set(store, timeline);
}

/** The timeline of a store in Redis; for any other store, that of this process. */
export function findTimeline(store?: object): Timeline {
  return (store && timelines.get(store)) ?? PROCESS_TIMELINE;
}
