import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@sluice/core';
import { findConnection, readSubject, type RedisConnection } from '@sluice/core/spi';

/** How often each process reports its number of clients, and reads the numbers of others. */
const EVERY_MS = 1_000;
/** How long the clients of a dead process still count. */
const LIFE_MS = 3_000;
/** How long Redis may take: no request waits for this. */
const PATIENCE_MS = 500;

/**
 * One value: each process's number of clients, and when it reported that. Returns the clients of the others. Needs no
 * permissions beyond those for decisions.
 */
const EXCHANGE = `
local time = redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
local kept, others = {}, 0
for process, count, atMs in string.gmatch(redis.call('GET', KEYS[1]) or '', '(%w+) (%d+) (%d+);') do
  if process ~= ARGV[1] and nowMs - tonumber(atMs) <= ${String(LIFE_MS)} then
    kept[#kept + 1] = process .. ' ' .. count .. ' ' .. atMs .. ';'
    others = others + tonumber(count)
  end
end
if ARGV[2] ~= '0' then
  kept[#kept + 1] = ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. string.format('%.0f', nowMs) .. ';'
end
redis.call('SET', KEYS[1], table.concat(kept), 'PX', ${String(LIFE_MS)})
return others`;

/** The clients of one namespace. */
interface Namespace {
  /** Those of this process. */
  own: number;
  /** Those of other processes, as far as known. */
  others: number;
  /** The number that this process last reported to others. */
  told: number;
  isTelling: boolean;
}

/**
 * Counts connected clients by namespace, across all processes on one Redis. Changes elsewhere are seen within a second.
 * While Redis does not answer, only this process's clients count, because it then decides alone.
 */
export class ConnectedClients {
  readonly #redis: RedisConnection | undefined;
  readonly #isShared: (namespace: string) => boolean;
  readonly #process = randomBytes(8).toString('hex');
  readonly #namespaces = new Map<string, Namespace>();
  readonly #timer: NodeJS.Timeout;

  /** @param isShared - Whether processes share the count of a namespace: those that rules name. */
  constructor(store: Store, isShared: (namespace: string) => boolean) {
    this.#redis = findConnection(store);
    this.#isShared = isShared;
    this.#timer = setInterval(() => void this.#tellAll(), EVERY_MS).unref();
  }

  /** Counts a client that connects or, with -1, leaves. */
  add(name: string, change: 1 | -1): void {
    const namespace = this.#namespaces.get(name) ?? { own: 0, others: 0, told: 0, isTelling: false };
    this.#namespaces.set(name, namespace);
    namespace.own += change;
    void this.#tell(name, namespace);
  }

  count(name: string): number {
    const { own = 0, others = 0 } = this.#namespaces.get(name) ?? {};
    return own + others;
  }

  /** Stops reporting to others, once clients that left have been reported. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#tellAll();
  }

  async #tellAll(): Promise<void> {
    await Promise.all([...this.#namespaces].map(([name, namespace]) => this.#tell(name, namespace)));
  }

  async #tell(name: string, namespace: Namespace): Promise<void> {
    if (namespace.isTelling) return;
    namespace.isTelling = true;
    do {
      namespace.told = namespace.own;
      namespace.others = this.#isShared(name) ? await this.#exchange(name, namespace.told).catch(() => 0) : 0;
    } while (namespace.told !== namespace.own);
    namespace.isTelling = false;
    if (namespace.own === 0) this.#namespaces.delete(name);
  }

  async #exchange(name: string, own: number): Promise<number> {
    if (this.#redis === undefined) return 0;
    const key = `${this.#redis.prefix}:{${readSubject(name)}}:-sentinel-clients`;
    const others = this.#redis.eval(EXCHANGE, [key], [this.#process, String(own)]);
    return Number(await Promise.race([others, sleep(PATIENCE_MS, 0, { ref: false })]));
  }
}
