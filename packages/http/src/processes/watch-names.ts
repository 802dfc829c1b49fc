import { redisStore as storeOfCore, type Limit, type Store } from '@sluice/core';
import {
  connectionOf,
  detached,
  encodeSubject,
  guardOf,
  isSource,
  liveLimiters,
  policiesText,
  runScript,
  warnOnce,
  type RedisConnection,
} from '@sluice/core/spi';
import { bringWatch } from './brought-watch.ts';
import { exchangeNames } from './scripts.generated.ts';

/** Policies as text, by the names of their limits. */
export type WrittenNames = ReadonlyMap<string, string>;

/** When the names are looked at, in milliseconds after the look before; the last one over and over. */
const PAUSES_MS = [10_000, 10_000, 60_000];
/** Longer than two pauses: what a process has written is there until it writes again. */
const KEPT_MS = 180_000;
/** The first names of a process are compared. */
export const MOST_NAMES = 1_000;
/** Names of one script call. */
const MOST_AT_ONCE = 100;
const MOST_WARNINGS = 5;
const MOST_SHOWN = 300;

/**
 * Finds other processes that have other policies under the same names, with their keys in the same place of Redis, and
 * warns with `SLUICE_LIMITER_NAME_DIFFERS`: they share budgets, or limit a client twice. Each process writes its policies
 * under each name, and reads what was written there since it did so itself: the process that wrote it lives beside this
 * one. A process that has ended, such as this one before a restart, is not told of.
 *
 * A look is a script call for each hundred names, beside all decisions. Where it fails, nothing is compared. No timer
 * keeps a process alive, and none keeps a store.
 */
export class NameWatch {
  readonly #store: WeakRef<Store>;
  readonly #namesOn: (store: Store) => WrittenNames;
  readonly #who: string;
  /** The names that the last look wrote. */
  #written: WrittenNames = new Map();
  #starts = 0;
  #warnings = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looking: Promise<void> | undefined;

  /**
   * @param namesOn - Called for each look. Empty: nothing is sent.
   * @param who - Names this process to others, and what in it has these limits.
   */
  constructor(store: Store, namesOn: (store: Store) => WrittenNames, who: string = thisProcess()) {
    this.#store = new WeakRef(store);
    this.#namesOn = namesOn;
    this.#who = who;
  }

  /** Looks ten seconds from now, once more after that, and then each minute, until the store is gone. Only in Redis. */
  start(): this {
    const store = this.#store.deref();
    if (store?.place === undefined || connectionOf(store) === undefined) return this;
    const pauseMs = PAUSES_MS[Math.min(this.#starts++, PAUSES_MS.length - 1)];
    this.#timer = detached(() =>
      setTimeout(() => {
        void this.look().then(() => {
          if (this.#timer !== undefined) this.start();
        });
      }, pauseMs),
    );
    (this.#timer as { unref?: () => void }).unref?.();
    return this;
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Writes the names, and warns of those that another process has written since otherwise. Never rejects. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look()
      .catch(() => undefined) // Redis is away, or has no room, or does not let: a decision says so
      .finally(() => (this.#looking = undefined)));
  }

  async #look(): Promise<void> {
    const store = this.#store.deref();
    if (store === undefined || guardOf(store).state !== 'closed') return;
    const connection = connectionOf(store);
    if (connection === undefined) return;
    const names = [...this.#namesOn(store)].slice(0, MOST_NAMES);
    for (let at = 0; at < names.length; at += MOST_AT_ONCE) {
      await this.#exchange(connection, names.slice(at, at + MOST_AT_ONCE), String(store.place));
    }
    this.#written = new Map(names);
  }

  async #exchange(
    connection: RedisConnection,
    names: readonly (readonly [name: string, text: string])[],
    place: string,
  ): Promise<void> {
    const keys = names.map(([name]) => `${connection.prefix}:names:{names}:${encodeSubject(name)}`);
    const texts = names.map(([, text]) => `${this.#who}\n${text}`);
    const before = await runScript(await connection.open(), exchangeNames, keys, [String(KEPT_MS), ...texts]);
    names.forEach(([name, text], i) => {
      const [who = '', ...lines] = String((before as readonly unknown[])[i]).split('\n');
      const other = lines.join('\n');
      if (who === '' || who === this.#who || other === text || this.#written.get(name) !== text) return;
      this.#warn(place, name, `${shortened(text)} in ${this.#who}, and ${shortened(other)} in ${who}`);
    });
  }

  #warn(place: string, name: string, differing: string): void {
    if (this.#warnings === MOST_WARNINGS) return;
    const isNew = warnOnce(
      'SLUICE_LIMITER_NAME_DIFFERS',
      `limits named ${name} have other policies in another process with the keys of ${place}: ${differing}. They share ` +
        'budgets, or limit a client twice. During a deployment that is so, and passes. Otherwise give each application ' +
        'a prefix of its own, redisStore(url, { prefix }), or each limit a name of its own.',
      `${place} ${name} ${this.#who}`,
    );
    if (isNew) this.#warnings++;
  }
}

const watched = /* @__PURE__ */ new WeakSet<Store>();

/** Core's `redisStore`, with the watch of names also in a bundle. Adapters export it. */
export const redisStore: typeof storeOfCore = /* @__PURE__ */ bringWatch(storeOfCore, (store) => {
  if (watched.has(store)) return;
  watched.add(store);
  new NameWatch(store, namesOfLimiters).start();
});

/** Nothing before the first decision: until then a store sends nothing. */
function namesOfLimiters(store: Store): WrittenNames {
  const own = guardOf(store).isUsed ? liveLimiters().filter((limiter) => limiter.store === store) : [];
  return writtenNames(
    own.flatMap(({ name, limits }) =>
      (limits?.known ?? []).flatMap((limit) => (isSource(limit) ? [] : [[name, limit] as const])),
    ),
  );
}

/**
 * The policies of limits that do not change, by the names of their limiters, with their own where they have some. A name
 * with several is left out: they share it on purpose, or are chosen for each request.
 */
export function writtenNames(limits: Iterable<readonly [limiter: string, limit: Limit]>): WrittenNames {
  const names = new Map<string, string>();
  const several = new Set<string>();
  for (const [limiter, { policies }] of limits) {
    const name = [limiter, ...policies.map((one) => one.name).filter((one) => one !== limiter)].join('.');
    const text = policiesText(policies);
    if ((names.get(name) ?? text) !== text) several.add(name);
    names.set(name, text);
  }
  for (const name of several) names.delete(name);
  return names;
}

function shortened(text: string): string {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}...` : text;
}

/** Such as `server.js (process 42 on web-1, since 2026-01-31T12:00:00.000Z)`: no two processes are alike. */
export function thisProcess(): string {
  const { argv, pid, env } = process;
  const program = argv[1]?.split(/[/\\]/).at(-1) ?? 'a program';
  const host = env['HOSTNAME'] === undefined ? '' : ` on ${env['HOSTNAME']}`;
  const since = new Date(performance.timeOrigin).toISOString();
  return `${program} (process ${String(pid)}${host}, since ${since})`.replaceAll(/\s+/g, ' ');
}
