import { readSubject } from '../values/key.ts';
import type { LimitEvent } from './event.ts';

/** A change, as it is added: what is left out is null. */
export type NewEvent = Pick<LimitEvent, 'atMs' | 'what' | 'limit'> & {
  readonly [Name in keyof LimitEvent]?: LimitEvent[Name] | undefined;
};

export const MAX_EVENTS = 1_000;
const MAX_IN_NAME = 300;
export const EVENTS_KEPT_MS: number = 7 * 86_400_000;

/** What changed and what broke, the last thousand events of a week: those of this process. */
export class Timeline {
  /** The events that this process knows, by name. */
  protected readonly known: Map<string, LimitEvent> = new Map<string, LimitEvent>();
  /** Those that last. */
  protected readonly lasting: Set<string> = new Set<string>();

  /** The events that this process knows, the last one first. */
  get events(): readonly LimitEvent[] {
    const sinceMs = Date.now() - EVENTS_KEPT_MS;
    const kept = [...this.known.values()].filter(({ atMs }) => atMs > sinceMs);
    return kept.sort((a, b) => a.atMs - b.atMs).reverse();
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

  /** Adds an event. Never rejects. */
  add(event: NewEvent, name?: string): Promise<void> {
    this.keep(event, name);
    return Promise.resolve();
  }

  /**
   * Adds an event that lasts until the returned function is called, with what is known then; with nothing, the event is
   * dropped. Until then, it is known to this process alone.
   */
  begin(event: NewEvent): (more?: Partial<LimitEvent>) => Promise<void> {
    // What several processes see begin in one minute is one event.
    const limit = encodeURIComponent(event.limit).slice(0, MAX_IN_NAME);
    const name = this.keep(event, `${event.what}-${String(Math.round(event.atMs / 60_000))}-${limit}`);
    this.lasting.add(name);
    return async (more) => {
      this.lasting.delete(name);
      if (more === undefined) this.known.delete(name);
      else await this.add({ ...(this.known.get(name) ?? event), ...more }, name);
    };
  }

  /** Reads what other processes have written, at most every ten seconds. Never rejects. */
  follow(): Promise<void> {
    return Promise.resolve();
  }

  /** Reads what other processes have written. Rejects with StoreError. */
  refresh(): Promise<void> {
    return Promise.resolve();
  }

  protected keep(event: NewEvent, name = `${String(event.atMs)}-${Math.random().toString(36).slice(2)}`): string {
    this.known.set(name, complete(event));
    if (this.known.size > MAX_EVENTS) {
      const [oldest] = [...this.known].reduce((first, one) => (one[1].atMs < first[1].atMs ? one : first));
      this.known.delete(oldest);
    }
    return name;
  }
}

function complete(event: NewEvent): LimitEvent {
  const { atMs, what, limit, endAtMs = null, key = null, before = null } = event;
  const { after = null, by = null, reason = null } = event;
  return { atMs, what, endAtMs, limit, key, before, after, by, reason };
}

const timelines = /* @__PURE__ */ new WeakMap<object, Timeline>();
/** That of all stores which are not Redis, and of policies that are kept elsewhere. */
const ofProcess = /* @__PURE__ */ new Timeline();

export function rememberTimeline(store: object, timeline: Timeline): void {
  timelines.set(store, timeline);
}

/** The timeline of a store in Redis; for any other one that of this process. */
export function findTimeline(store?: object): Timeline {
  return (store && timelines.get(store)) ?? ofProcess;
}
