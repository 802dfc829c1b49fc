import { PolicyError, shown } from '../../errors.ts';
import { warnOnce } from '../../warnings.ts';
import { untilReady } from '../../guard/until-ready.ts';
import { closeGuardOf } from '../../guard/store-guard.ts';
import type { Fast, FastHost, FastStore } from '../../engine/fast.ts';
import { type CoalescedRequests, type BatchStore, type BatchAnswer } from '../../engine/batch-store.ts';
import {
  partsOf,
  type Part,
  type Store,
  type StoreAnswer,
  type StoreAnswers,
  type StoreCall,
  type StoreRequest,
  type BreakerOptions,
} from '../../engine/store.ts';
import { keyPrefixOf, type IoredisClient, type NodeRedisClient, type OwnClient, type RedisClient } from './client.ts';
import { clientOf, addConnection } from './connection.ts';
import { warnOfEviction } from './eviction.ts';
import { failureOf } from './failure.ts';
import { batchOnNodes } from './cluster/batch-on-nodes.ts';
import { hashSlot } from './cluster/hash-slot.ts';
import { SeveralNodes } from './cluster/several-nodes.ts';
import { flushBatches, NetworkFast, performInOrder } from './fast/network-fast.ts';
import { AbandonedCalls, MOST_ABANDONED_BYTES, type SentCall } from './abandoned-calls.ts';
import { HealedKeys } from './healed-keys.ts';
import { ServerClock } from './server-clock.ts';
import { hashTag } from './redis-key.ts';
import { instantOf, readReply } from './read-reply.ts';
import { readBatch } from './read-batch.ts';
import { parseRedisOptions, type RedisSettings, type RedisStoreOptions } from './redis-options.ts';
import { writeCall } from './write-call.ts';
import { withinBounds } from './within-bounds.ts';
import { writeBatch } from './write-batch.ts';
import { abandonedError, called, sentInFull, type Script } from './run-script.ts';
import { ScriptLoads } from './script-loads.ts';
import { general, batch } from './scripts.generated.ts';

/** A store in Redis, Valkey, or a cluster of them. */
export interface RedisStore extends Store {
  readonly source: 'redis';
  perform(requests: readonly StoreRequest[], call?: StoreCall): Promise<StoreAnswers>;
  /**
   * Resolves when Redis can decide, so that the first requests do not wait for a connection; tries again until then.
   * For the start of an application and for readiness checks; a limiter does not need this call.
   *
   * @param timeoutMs - Rejects after so many milliseconds, or when the store is closed, with the last error. Default
   * 5000.
   * @throws (rejects) PolicyError `SLUICE_OPTION_INVALID` for a bad timeout; StoreError.
   */
  ready(timeoutMs?: number): Promise<void>;
  close(): Promise<void>;
}

/**
 * Limits that hold across processes: every list of requests is one script call, decided at one instant of the
 * server's clock, in whole milliseconds. One key per limiter and subject; every key expires. Needs Redis 6.2 or
 * later, or Valkey.
 *
 * @param client - A client of ioredis, iovalkey or node-redis, anything with `evalsha` and `eval` (see
 * {@link RedisClient}), or a URL. The store never connects or closes a client that the caller passed; for a URL it
 * makes one with ioredis, connects it when a limiter takes the store, and closes it with the last limiter that uses the
 * store. Before the first decision the connection keeps no process alive.
 * @throws PolicyError for any other client, for a missing prefix, and for bad or unknown options. Nothing is sent before
 * the first decision.
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions): RedisStore;
// Two overloads, so that the functions of an inline object have types.
export function redisStore(
  // eslint-disable-next-line @typescript-eslint/unified-signatures
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisStoreOptions,
): RedisStore;
export function redisStore(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options: RedisStoreOptions,
): RedisStore {
  return createRedisStore(client, options, { general, batch });
}

/** The scripts that decide: {@link general} decides every request, {@link batch} the usual ones. */
export interface Scripts {
  readonly general: Script;
  readonly batch: Script;
}

/**
 * {@link redisStore} with other scripts. `instantOf` returns the last argument of the test build, which uses it as
 * the instant. Such a store has no server's clock to watch.
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
  const { own, adopted } = clientOf(client, 'redisStore', settings.connectTimeoutMs);
  if (own === undefined && settings.connectTimeoutMs !== undefined) {
    throw new PolicyError(
      'connectTimeoutMs',
      'connectTimeoutMs needs a URL; your own client connects itself, got a client',
      'SLUICE_OPTION_INVALID',
    );
  }
  const store = new ScriptedStore(own, adopted, { ...settings, scripts, instantOf });
  addConnection(store, {
    through: own ?? (client as object),
    prefix: settings.prefix,
    keyPrefix: keyPrefixOf(client),
    open: async () => adopted ?? (own as OwnClient).open(),
    close: () => Promise.resolve(), // the store closes its client itself
  });
  return store;
}

interface StoreSettings extends RedisSettings {
  readonly scripts: Scripts;
  readonly instantOf: (() => number) | undefined;
}

/** Divides 16 384 hash slots into 64 parts when a client does not know their nodes: nodes own ranges of slots. */
const SHARD_SHIFT = 8;
/** A node serves several of these parts: each has a sixteenth of the memory for abandoned calls. */
const NODE_PARTS_SHIFT = 4;

const NO_ANSWER: BatchAnswer = { atMs: 0, keys: [] };

/** The state of a part of the store that can fail by itself, and has a clock of its own. */
interface Node {
  readonly abandonedCalls: AbandonedCalls;
  readonly clock: ServerClock;
  readonly healedKeys: HealedKeys;
}

class ScriptedStore implements RedisStore, BatchStore, FastStore {
  readonly source = 'redis';
  readonly hasNodes: boolean;
  /** Only of several nodes. */
  readonly shardOf?: (subject: string) => string;
  readonly showsDenied: boolean;
  readonly #own: OwnClient | undefined;
  readonly #adopted: RedisClient | undefined;
  readonly breaker: BreakerOptions | false;
  readonly #settings: StoreSettings;
  /** How often the store has been closed: a pending `ready` gives up then. */
  #closings = 0;
  /** Whether the server's eviction policy has been checked. */
  #hasCheckedEviction = false;
  readonly #scriptLoads = new ScriptLoads((key) => this.shardOf?.(key.slice(key.indexOf('{') + 1, key.indexOf('}'))));
  readonly #nodes = new Map<string | undefined, Node>();
  readonly #severalNodes = new SeveralNodes((requests, waiting) => this.#performOnNode(requests, waiting));

  constructor(own: OwnClient | undefined, adopted: RedisClient | undefined, settings: StoreSettings) {
    this.#own = own;
    this.#adopted = adopted;
    this.hasNodes = adopted?.cluster === true;
    if (this.hasNodes) this.shardOf = (subject) => this.#shardOf(subject);
    this.showsDenied = settings.instantOf === undefined;
    this.breaker = settings.breaker;
    this.#settings = settings;
  }

  connect(): void {
    this.#own?.connect();
  }

  #shardOf(subject: string): string {
    const slot = hashSlot(hashTag(subject));
    return this.#adopted?.nodeOf?.(slot) ?? `slots from ${String((slot >> SHARD_SHIFT) << SHARD_SHIFT)}`;
  }

  fast(host: FastHost): Fast {
    return new NetworkFast(this, host);
  }

  perform(requests: readonly StoreRequest[], waiting?: StoreCall): Promise<StoreAnswers> {
    return performInOrder(this, requests, () => this.#perform(requests, waiting));
  }

  #perform(requests: readonly StoreRequest[], waiting: StoreCall | undefined): Promise<StoreAnswers> {
    return this.hasNodes ? this.#severalNodes.perform(requests, waiting) : this.#performOnNode(requests, waiting);
  }

  async #performOnNode(requests: readonly StoreRequest[], waiting: StoreCall | undefined): Promise<StoreAnswers> {
    const [request] = requests;
    const [part] = request === undefined ? [] : partsOf(request);
    const client = this.#adopted ?? (await this.#opened(waiting));
    if (waiting?.abandoned === true) throw abandonedError();
    const node = this.#nodeOf(part?.subject);
    const { abandonedCalls, clock } = node;
    const sent = abandonedCalls.sent(waiting, requests.length);
    const byMs = clock.behindMs;
    if (byMs !== undefined) this.#heal(client, node, requests.flatMap(partsOf), byMs);
    try {
      const answers = await this.#send(client, node, requests, waiting);
      abandonedCalls.ended(waiting, sent, true);
      return answers;
    } catch (error) {
      abandonedCalls.ended(waiting, sent, false);
      throw error;
    }
  }

  /**
   * Neither this nor what it calls is async because each additional promise is a measurable part of a decision's
   * cost.
   */
  performBatch(requests: readonly CoalescedRequests[], waiting?: StoreCall): Promise<BatchAnswer> {
    if (this.hasNodes && requests.length > 1)
      return batchOnNodes(requests, waiting, (one, call) => this.performBatch(one, call));
    const client = this.#adopted;
    if (client === undefined) return this.#opened(waiting).then((own) => this.#sendBatch(own, requests, waiting));
    try {
      return this.#sendBatch(client, requests, waiting);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  }

  #sendBatch(
    client: RedisClient,
    requests: readonly CoalescedRequests[],
    waiting: StoreCall | undefined,
  ): Promise<BatchAnswer> {
    if (waiting?.abandoned === true) throw abandonedError();
    const { prefix, check, scripts } = this.#settings;
    const node = this.#nodeOf(requests[0]?.subject);
    const { clock, abandonedCalls } = node;
    const sent = abandonedCalls.sent(waiting, requests.length);
    const byMs = clock.behindMs;
    if (byMs !== undefined) this.#heal(client, node, requests, byMs);
    const call = writeBatch(requests, prefix, check);
    const read = (reply: unknown, atMs: number | undefined): BatchAnswer =>
      // The requests of an abandoned call are no longer known.
      waiting?.abandoned === true ? NO_ANSWER : readBatch(reply, atMs, call, requests, check, clock.behindMs);
    return this.#run(client, node, scripts.batch, call.keys, call.args, waiting, read, sent);
  }

  /**
   * Cuts states of these keys that a clock which ran ahead has left behind, before the call that is sent next. A
   * failure is not reported because that call meets it too.
   */
  #heal(client: RedisClient, node: Node, keys: readonly Pick<Part, 'limit' | 'subject'>[], byMs: number): void {
    const { clock, healedKeys } = node;
    const unhealed = healedKeys.without(keys, clock.stepsBack);
    if (unhealed.length === 0) return;
    const requests = unhealed.map(
      ({ limit, subject }) => ({ op: 'heal', part: { limit, subject, cost: 0 }, byMs }) as const,
    );
    this.#send(client, node, requests, undefined).then(
      (answers) => {
        const healed = unhealed.filter((_, i) => isBefore(answers[i], byMs));
        healedKeys.add(healed, clock.stepsBack);
      },
      () => undefined,
    );
  }

  /** Our own client, when it has opened. */
  #opened(waiting: StoreCall | undefined): Promise<RedisClient> {
    const own = this.#own as OwnClient;
    const opened = own.open();
    if (waiting !== undefined) waiting.connecting = own.connecting;
    return opened;
  }

  #nodeOf(subject: string | undefined): Node {
    const shard = subject === undefined ? undefined : this.shardOf?.(subject);
    let node = this.#nodes.get(shard);
    if (node === undefined) {
      const isPartOfNode = shard !== undefined && this.#adopted?.nodeOf === undefined;
      const bytes = isPartOfNode ? MOST_ABANDONED_BYTES >> NODE_PARTS_SHIFT : MOST_ABANDONED_BYTES;
      node = { abandonedCalls: new AbandonedCalls(bytes), clock: new ServerClock(), healedKeys: new HealedKeys() };
      this.#nodes.set(shard, node);
    }
    return node;
  }

  async #send(
    client: RedisClient,
    node: Node,
    requests: readonly StoreRequest[],
    waiting: StoreCall | undefined,
  ): Promise<StoreAnswers> {
    const calls = withinBounds(requests);
    const [only] = calls;
    if (calls.length === 1 && only !== undefined) return this.#call(client, node, only, waiting);
    // The decisions of a call hold, even if other calls fail.
    const answers = await Promise.all(
      calls.map(async (call) => {
        try {
          return await this.#call(client, node, call, waiting);
        } catch (error) {
          return call.map(() => error as Error);
        }
      }),
    );
    return answers.flat();
  }

  async ready(timeoutMs = 5000): Promise<void> {
    const closings = this.#closings;
    await untilReady(this, timeoutMs, () => closings !== this.#closings);
  }

  async close(): Promise<void> {
    this.#closings++;
    flushBatches(this); // a batch that is sent later would open the store again
    closeGuardOf(this);
    await this.#own?.close();
  }

  async #call(
    client: RedisClient,
    node: Node,
    requests: readonly StoreRequest[],
    waiting: StoreCall | undefined,
  ): Promise<StoreAnswers> {
    const { prefix, check, scripts } = this.#settings;
    const call = writeCall(requests, prefix, check, client.sendsAgain === true && client.cluster !== true);
    const keys = [...call.keys, ...call.furtherKeys];
    return this.#run(client, node, scripts.general, keys, call.args, waiting, (reply, atMs) =>
      readReply(reply, atMs, call, this.showsDenied, node.clock.behindMs),
    );
  }

  #run<T>(
    client: RedisClient,
    { clock, abandonedCalls }: Node,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
    waiting: StoreCall | undefined,
    read: (reply: unknown, atMs: number | undefined) => T,
    sent?: SentCall,
  ): Promise<T> {
    const { instantOf: instant } = this.#settings;
    const written = instant === undefined ? args : [...args, String(instant())];
    // Before the first connection it is sent later than it was begun.
    const sentMs = (waiting?.connecting === undefined ? waiting?.sentMs : undefined) ?? performance.now();
    const answer = (reply: unknown): T => {
      if (sent !== undefined) abandonedCalls.ended(waiting, sent, true);
      const atMs = instantOf(reply);
      // The clock of a test build is not the server's.
      if (atMs !== undefined && instant === undefined) clock.saw(atMs, sentMs);
      if (!this.#hasCheckedEviction) void warnOfEviction(client); // after the first reply
      this.#hasCheckedEviction = true;
      return read(reply, atMs);
    };
    const fail = (error: unknown): never => {
      if (sent !== undefined) abandonedCalls.ended(waiting, sent, false);
      throw failureOf(error);
    };
    return called(client, 'evalsha', script.sha1, keys, written).then(answer, (error: unknown) =>
      sentInFull(error, client, script, keys, written, waiting, this.#scriptLoads).then(answer, fail),
    );
  }
}

/** Whether a request was performed before an instant. */
function isBefore(answer: StoreAnswer | Error | undefined, byMs: number): boolean {
  return answer !== undefined && !(answer instanceof Error) && answer.atMs < byMs;
}
