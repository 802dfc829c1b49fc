import type { Client } from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from '@jest/globals';
import { redisStore, type Policy } from '@sluice/old-core';
import { cases, seeded, testSeed, until, useRedis, type Random } from '@sluice/testkit';
import { checkHistory } from '../../../old-core/test/history/check-history.ts';
import type { Call } from '../../../old-core/test/history/history.ts';
import type { Decided } from '../../src/rls/decide.ts';
import type { DescriptorFields } from './protocol.ts';
import { ask, connect, descriptor, runService, type RunningService } from './running-service.ts';

/** A rule of each policy that a file can name, with windows so short that a run sees many of them. */
const RULES: Readonly<Record<string, string>> = {
  second: 'rate_limit: { unit: second, requests_per_unit: 9 }',
  fixed: 'sluice: { fixedWindow: { limit: 5, window: 300ms } }',
  counting: 'sluice: { fixedWindow: { limit: 5, window: 300ms, countDenied: true } }',
  aligned: 'sluice: { fixedWindow: { limit: 6, window: 400ms, align: clock } }',
  blocks: 'sluice: { slidingWindow: { limit: 7, window: 500ms, precision: 100ms } }',
  counter: 'sluice: { slidingCounter: { limit: 6, window: 400ms } }',
  log: 'sluice: { slidingLog: { limit: 5, window: 350ms } }',
  bucket: 'sluice: { tokenBucket: { capacity: 6, refill: 2, every: 100ms } }',
  interval: 'sluice: { tokenBucket: { capacity: 6, refill: 3, every: 200ms, mode: interval } }',
  overdraft: 'sluice: { tokenBucket: { capacity: 4, refill: 2, every: 100ms, overdraft: 3 } }',
  leaky: 'sluice: { leakyBucket: { limit: 5, window: 300ms, maxDelay: 240ms } }',
  both: 'sluice: [{ fixedWindow: { name: short, limit: 3, window: 100ms } }, { slidingLog: { name: long, limit: 8, window: 900ms } }]',
  watched: 'shadow_mode: true, sluice: { slidingLog: { limit: 4, window: 300ms } }',
};
const LIMITS = `
domain: shop
descriptors:
${Object.entries(RULES)
  .map(([key, rule]) => `  - { key: ${key}, ${rule} }`)
  .join('\n')}
  - { key: worker, rate_limit: { unlimited: true } }
`;
/** A key whose limit the request itself brings. */
const OVERRIDE = 'override';
const KEYS: readonly string[] = [...Object.keys(RULES), OVERRIDE];
const REPLICAS = 3;
const CLIENTS = 4;
const redis = useRedis();
let runs = 0;

describe('replicas on one Redis', () => {
  let running: RunningService[] = [];
  let clients: Client[] = [];
  let recorder: Recorder;
  afterEach(async () => {
    for (const client of clients) client.close();
    await Promise.all(running.map((one) => one.close()));
  });

  it.each([
    ['each policy by itself', 1],
    ['up to three policies in a call, of which all are taken or none', 3],
  ])('decide one after the other, exactly as the policies promise: %s', async (_what, most) => {
    recorder = new Recorder();
    const prefix = `history${String(++runs)}:`;
    running = await Promise.all(
      Array.from({ length: REPLICAS }, () =>
        runService(LIMITS, {
          store: redisStore(redis.server.url, { prefix }),
          timeoutMs: 60_000,
          observer: recorder,
        }),
      ),
    );
    clients = running.flatMap(({ port }) => Array.from({ length: CLIENTS }, () => connect(port)));
    await Promise.all(clients.map((client) => ask(client, { domain: 'none', descriptors: [descriptor('a=b')] })));
    const sinceMs = Date.now() - 1;
    const random = seeded(testSeed(19));
    const call = async (worker: number, limited: readonly DescriptorFields[]): Promise<void> => {
      recorder.asked(worker);
      const descriptors = [...limited, descriptor(`worker=${String(worker)}`)];
      const { overallCode } = await ask(clients[worker] as Client, { domain: 'shop', descriptors });
      recorder.answered(worker, overallCode === 'OK');
    };
    const work = async (_client: Client, worker: number): Promise<void> => {
      for (let i = 0; i < cases(500) / CLIENTS; i++) await call(worker, chosen(random, most));
    };
    await Promise.all(clients.map(work));
    // A slow machine may ask too seldom to reach a limit by chance: then all clients ask for it together.
    for (const key of KEYS) {
      await until(`${key} denies`, async () => {
        if (!recorder.denied.has(key)) await Promise.all(clients.map((_, worker) => call(worker, [limitedBy(key, 2)])));
        return recorder.denied.has(key);
      });
    }

    const { calls, policies } = recorder;
    const verdict = checkHistory({ policies, sinceMs, calls, cuts: [], stopped: [] });

    expect(verdict.defects).toEqual([]);
    expect(verdict.undecided).toBeLessThanOrEqual(verdict.explained / 10);
    expect(verdict.explained).toBeGreaterThan(cases(500));
    expect(Object.keys(policies).sort()).toEqual([...KEYS].sort());
  });
});

/** Different rules, or a limit of the request itself. */
function chosen(random: Random, most: number): readonly DescriptorFields[] {
  const keys = new Set<string>();
  for (let i = random.integer(1, most); i > 0; i--) keys.add(random.pick(KEYS as [string]));
  const cost = random.integer(1, 2);
  return [...keys].map((key) => limitedBy(key, cost));
}

function limitedBy(key: string, cost: number): DescriptorFields {
  const limit = key === OVERRIDE ? { limit: { requestsPerUnit: 8, unit: 1 } } : {};
  return descriptor(`${key}=x`, { hitsAddend: { value: cost }, ...limit });
}

/** Records what replicas decide as calls of a history, with the instants of the client that asked. */
class Recorder {
  readonly calls: Call[] = [];
  readonly policies: Record<string, readonly Policy[]> = {};
  readonly denied = new Set<string>();
  readonly #invokedMs = new Map<number, number>();
  readonly #decided = new Map<number, Decided>();

  asked(worker: number): void {
    this.#invokedMs.set(worker, performance.now());
  }

  /** Called by the replica. The last descriptor of a request names its worker. */
  decided(decided: Decided): void {
    const worker = decided.request.descriptors.at(-1)?.entries[0];
    if (worker?.key === 'worker') this.#decided.set(Number(worker.value), decided);
  }

  answered(worker: number, isAllowed: boolean): void {
    const { request, allowed, outcomes } = this.#decided.get(worker) as Decided;
    expect(isAllowed).toBe(allowed);
    for (const { descriptor: limited, allowed: isOwnAllowed, policies, decision } of outcomes) {
      const { match, part, index } = limited;
      const key = request.descriptors[index]?.entries[0]?.key ?? '';
      if (!isOwnAllowed) this.denied.add(key);
      // What a replica denies by itself changes nothing, and has no instant of the server.
      if (decision.source === 'cache') continue;
      expect(decision.source).toBe('redis');
      if (!('policies' in part.limit)) throw new Error('a managed policy is none of these rules');
      this.policies[key] ??= part.limit.policies.map(({ policy }) => policy as Policy);
      const isTaken = allowed || match.rule.shadowMode || !isOwnAllowed;
      this.calls.push({
        // One that allows in a call that is denied takes nothing: it is a look.
        op: isTaken ? 'consume' : 'peek',
        process: worker,
        key,
        cost: part.cost,
        invokedMs: this.#invokedMs.get(worker) as number,
        endedMs: performance.now(),
        end: 'answered',
        reply: { allowed: isOwnAllowed, atMs: decision.atMs, policies },
      });
    }
  }
}
