import { setTimeout as sleep } from 'node:timers/promises';
import { StoreError, isFault, shown } from '../../errors.ts';
import { warnOnce } from '../../warnings.ts';
import type { BreakerOptions } from '../breaker.ts';
import { checkTimeout } from '../deadline.ts';
import { probe } from '../probe.ts';
import { StoreGuard } from '../store-guard.ts';
import { MOST_BYTES, MOST_KEYS, workOf, type KeyRuns, type RunStore, type RunsAnswer } from '../runs.ts';
import type { Store, StoreAnswers, StoreCall, StoreRequest } from '../store.ts';
import { keyPrefixOf, type IoredisClient, type NodeRedisClient, type OwnClient, type RedisClient } from './client.ts';
import { clientOf, noteConnection } from './connection.ts';
import { warnOfEviction } from './eviction.ts';
import { failureOf } from './failure.ts';
import { hashSlot } from './hash-slot.ts';
import { LostCalls } from './lost-calls.ts';
import { readReply } from './read-reply.ts';
import { readRuns } from './read-runs.ts';
import { parseRedisOptions, type RedisSettings, type RedisStoreOptions } from './redis-options.ts';
import { partsOf, writeCall } from './write-call.ts';
import { writeRuns } from './write-runs.ts';
import { runScript, type Script } from './run-script.ts';
import { frame, runs } from './scripts.generated.ts';

/** A store in Redis, Valkey, or a cluster of them. */
export interface RedisStore extends Store {
  readonly source: 'redis';
  perform(requests: readonly StoreRequest[], call?: StoreCall): Promise<StoreAnswers>;
  /**
   * Resolves when Redis decides, so that the first requests need not wait for a connection; tries again until then. For
   * starts and readiness checks; a limiter needs no such call.
   *
   * @param timeoutMs - Rejects after so many milliseconds, or when the store is closed, with what failed last. Default
   * 5000.
   * @throws (rejects) PolicyError `SLUICE_OPTION_INVALID` for what is no such number; StoreError.
   */
  ready(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/** How long `ready` waits between two attempts. */
const RETRY_MS = 50;

/**
 * Limits that hold across processes: every list of requests is one script call, decided at one instant of the server's
 * clock, in whole milliseconds. One key per limiter and subject; every key expires. Needs Redis 6.2 or later, or
 * Valkey.
 *
 * @param client - A client of ioredis, iovalkey or node-redis, anything with `evalsha` and `eval` (see
 * {@link RedisClient}), or a URL.
 * A client handed in is never connected or closed here; for a URL one is made, with ioredis, on first use, and closed
 * with the last limiter that uses the store.
 * @throws PolicyError for a client that is none of these, and for bad or unknown options. Nothing is sent before the
 * first decision.
 */
export function redisStore(client: RedisClient, options?: RedisStoreOptions): RedisStore;
// Two, so that the functions of an object written in place have types.
export function redisStore(
  // eslint-disable-next-line @typescript-eslint/unified-signatures
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options?: RedisStoreOptions,
): RedisStore;
export function redisStore(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisStoreOptions = {},
): RedisStore {
  return createRedisStore(client, options, { frame, runs });
}

/** The scripts that decide: {@link frame} whatever can be asked, {@link runs} what most requests ask. */
export interface Scripts {
  readonly frame: Script;
  readonly runs: Script;
}

/**
 * {@link redisStore} on given scripts; `instantOf` gives a last argument to the test build of them, which takes the
 * instant from there.
 */
export function createRedisStore(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisStoreOptions,
  scripts: Scripts,
  instantOf?: () => number,
): RedisStore {
  const settings = parseRedisOptions(options);
  if (/[{}]/.test(keyPrefixOf(client))) {
    warnOnce(
      'SLUICE_REDIS_KEY_PREFIX',
      `The keyPrefix ${shown(keyPrefixOf(client))} of the ioredis client has braces: in a cluster all keys share one hash slot.`,
    );
  }
  const { own, adopted } = clientOf(client, 'redisStore');
  const store = new ScriptedStore(own, adopted, { ...settings, scripts, instantOf });
  noteConnection(store, {
    through: own ?? (client as object),
    prefix: settings.prefix,
    keyPrefix: keyPrefixOf(client),
    open: async () => adopted ?? (own as OwnClient).open(),
    close: () => Promise.resolve(), // the store's own business
  });
  return store;
}

interface StoreSettings extends RedisSettings {
  readonly scripts: Scripts;
  readonly instantOf: (() => number) | undefined;
}

/** 16 384 hash slots in 64 parts, where a client does not say which nodes they live on: nodes own ranges of slots. */
const SHARD_SHIFT = 8;

const NOBODYS: RunsAnswer = { atMs: 0, keys: [] };

class ScriptedStore implements RedisStore, RunStore {
  readonly source = 'redis';
  readonly oneSubjectPerCall: boolean;
  readonly showsRefused: boolean;
  readonly #own: OwnClient | undefined;
  readonly #adopted: RedisClient | undefined;
  readonly breaker: BreakerOptions | false;
  readonly batching: boolean;
  readonly coalescing: boolean;
  readonly #settings: StoreSettings;
  /** How often it has been closed: what waits for it to be ready gives up then. */
  #closings = 0;
  /** Whether the server has been asked how it evicts keys. */
  #hasLooked = false;
  /** Per part of the store that fails by itself. */
  readonly #lost = new Map<string | undefined, LostCalls>();

  constructor(own: OwnClient | undefined, adopted: RedisClient | undefined, settings: StoreSettings) {
    this.#own = own;
    this.#adopted = adopted;
    this.oneSubjectPerCall = adopted?.cluster === true;
    this.showsRefused = settings.instantOf === undefined;
    this.breaker = settings.breaker;
    this.batching = settings.batching;
    this.coalescing = settings.coalescing;
    this.#settings = settings;
  }

  shardOf(subject: string): string | undefined {
    if (!this.oneSubjectPerCall) return undefined;
    const slot = hashSlot(subject);
    return this.#adopted?.nodeOf?.(slot) ?? `slots from ${String((slot >> SHARD_SHIFT) << SHARD_SHIFT)}`;
  }

  async perform(requests: readonly StoreRequest[], waiting?: StoreCall): Promise<StoreAnswers> {
    const [request] = requests;
    const [part] = request === undefined ? [] : partsOf(request);
    return this.#watched(part?.subject, waiting, (client) => this.#send(client, requests, waiting));
  }

  /** Not async, nor is what it calls: each promise more is a part of what a lone decision costs. */
  performRuns(asked: readonly KeyRuns[], waiting?: StoreCall): Promise<RunsAnswer> {
    const { prefix, check, scripts } = this.#settings;
    return this.#watched(asked[0]?.subject, waiting, (client) => {
      const call = writeRuns(asked, prefix, check);
      return this.#run(client, scripts.runs, call.keys, call.args, waiting, (reply) =>
        // Of a call that was abandoned nobody says any more what was asked.
        waiting?.abandoned === true ? NOBODYS : readRuns(reply, call, asked, check),
      );
    });
  }

  /** Sends when there is a client, and somebody waits for it, and few enough calls have been lost in this part of the store. */
  #watched<T>(
    subject: string | undefined,
    waiting: StoreCall | undefined,
    send: (client: RedisClient) => Promise<T>,
  ): Promise<T> {
    const sendTo = (client: RedisClient): Promise<T> => {
      if (waiting?.abandoned === true) {
        throw new StoreError('SLUICE_STORE_TIMEOUT', 'nobody waits for this any more');
      }
      const lost = this.#lostOf(subject);
      lost.check();
      const era = lost.sent(waiting);
      return send(client).then(
        (answer) => {
          lost.ended(waiting, era, true);
          return answer;
        },
        (error: unknown) => {
          lost.ended(waiting, era, false);
          throw error;
        },
      );
    };
    if (this.#adopted === undefined) return (this.#own as OwnClient).open().then(sendTo);
    try {
      return sendTo(this.#adopted);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  }

  /** How the server evicts keys, after its first answer. */
  #look(client: RedisClient): void {
    if (this.#hasLooked) return;
    this.#hasLooked = true;
    void warnOfEviction(client);
  }

  #lostOf(subject: string | undefined): LostCalls {
    const shard = subject === undefined ? undefined : this.shardOf(subject);
    let lost = this.#lost.get(shard);
    if (lost === undefined) this.#lost.set(shard, (lost = new LostCalls()));
    return lost;
  }

  async #send(
    client: RedisClient,
    requests: readonly StoreRequest[],
    waiting: StoreCall | undefined,
  ): Promise<StoreAnswers> {
    const calls = this.oneSubjectPerCall ? requests.map((request) => [request]) : withinBounds(requests);
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) return this.#call(client, only, waiting);
    // What one call decided stands, whatever becomes of the others.
    const answers = await Promise.all(
      calls.map(async (call) => {
        try {
          return await this.#call(client, call, waiting);
        } catch (error) {
          return call.map(() => error as Error);
        }
      }),
    );
    return answers.flat();
  }

  async ready(timeoutMs = 5000): Promise<void> {
    checkTimeout(timeoutMs);
    const endMs = performance.now() + timeoutMs;
    const closings = this.#closings;
    for (;;) {
      try {
        await probe(this, 'probe', Math.max(Math.ceil(endMs - performance.now()), 1), true);
        return;
      } catch (error) {
        if (performance.now() + RETRY_MS >= endMs || closings !== this.#closings || isFault(error)) throw error;
        await sleep(RETRY_MS);
        if (closings !== this.#closings) throw error;
      }
    }
  }

  async close(): Promise<void> {
    this.#closings++;
    StoreGuard.closeOf(this);
    await this.#own?.close();
  }

  async #call(
    client: RedisClient,
    requests: readonly StoreRequest[],
    waiting: StoreCall | undefined,
  ): Promise<StoreAnswers> {
    const { prefix, check, scripts } = this.#settings;
    const call = writeCall(requests, prefix, check);
    return this.#run(client, scripts.frame, [...call.keys, ...call.details], call.args, waiting, (reply) =>
      readReply(reply, call, this.showsRefused),
    );
  }

  #run<T>(
    client: RedisClient,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    waiting: StoreCall | undefined,
    read: (reply: unknown) => T,
  ): Promise<T> {
    const { instantOf } = this.#settings;
    const sent = instantOf === undefined ? args : [...args, String(instantOf())];
    return runScript(client, script, keys, sent, waiting).then(
      (reply) => {
        this.#look(client);
        return read(reply);
      },
      (error: unknown) => {
        throw failureOf(error);
      },
    );
  }
}

/** Cuts a list, in order, into lists that one call may carry. */
function withinBounds(requests: readonly StoreRequest[]): readonly (readonly StoreRequest[])[] {
  const calls: StoreRequest[][] = [];
  let call: StoreRequest[] = [];
  let work = 0;
  let bytes = 0;
  for (const request of requests) {
    const parts = partsOf(request);
    const added = parts.reduce((sum, { limit }) => sum + workOf(limit), 0);
    const size = parts.reduce(
      (sum, { subject, limit }) => sum + subject.length + limit.scope.length + 64 * (1 + limit.policies.length),
      0,
    );
    if (call.length > 0 && (work + added > MOST_KEYS || bytes + size > MOST_BYTES)) {
      calls.push(call);
      [call, work, bytes] = [[], 0, 0];
    }
    call.push(request);
    work += added;
    bytes += size;
  }
  if (call.length > 0) calls.push(call);
  return calls;
}
