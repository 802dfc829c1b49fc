import { describe, expect, it } from '@jest/globals';
import { fixedWindow, type Policy } from '@sluice/old-core';
import { namePolicies } from '@sluice/old-core/spi';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { START_MS, useSimulate, type ReportJson } from './simulated.ts';

const simulated = useSimulate();
const seed = testSeed(22);

/** A request of a random log. */
interface Arrival {
  readonly client: number;
  readonly atMs: number;
  readonly succeeded: boolean;
}

/** A few clients that pause, come steadily, or in bursts: at instants that share edges of windows and of tokens. */
function randomLog(random: Random): readonly Arrival[] {
  const clients = random.integer(1, 12);
  const arrivals: Arrival[] = [];
  let atMs = START_MS + random.integer(0, 60_000);
  for (let i = 0; i < 120; i++) {
    const pauses = [0, 1, 10, 20, 50, 100, 500, 1000, 6000, 12_000, 60_000, 3_600_000, random.integer(0, 3000)];
    if (random.percent(60)) atMs += pauses[random.integer(0, random.integer(0, pauses.length - 1))] ?? 0;
    // The first clients have more requests.
    const client = random.integer(1, random.integer(1, clients));
    arrivals.push({ client, atMs, succeeded: random.percent(70) });
  }
  return arrivals;
}

/** What a policy does to a log, by its kernel. */
function replayed(policy: Policy, log: readonly Arrival[]) {
  const [named] = namePolicies(policy, 'brute');
  if (named === undefined) throw new Error('no policy');
  const states = new Map<number, unknown>();
  const denied = log.filter(({ client, atMs }) => {
    const { state, verdict } = named.algorithm.kernel(named.policy, states.get(client), 1, atMs);
    if (verdict.allowed) states.set(client, state);
    return !verdict.allowed;
  });
  return {
    clients: new Set(denied.map(({ client }) => client)).size,
    denied: denied.length,
    deniedSucceeded: denied.filter(({ succeeded }) => succeeded).length,
  };
}

/** The smallest size that keeps to the loss, by trying each. */
function smallest(make: (size: number) => Policy, log: readonly Arrival[], most: number): number {
  for (let size = 1; ; size++) if (replayed(make(size), log).clients <= most) return size;
}

async function reportOf(log: readonly Arrival[], maxClients: string): Promise<ReportJson> {
  const lines = log.map(({ client, atMs, succeeded }) =>
    JSON.stringify({ time: atMs, ip: `10.0.0.${String(client)}`, status: succeeded ? 200 : 500 }),
  );
  return simulated.report(simulated.file(`${lines.join('\n')}\n`, 'exact'), '--max-clients', maxClients);
}

describe('what is suggested for a random log', () => {
  it.each([
    ['0', 0],
    ['20%', 0.2],
    ['50%', 0.5],
  ])('is what trying every limit by the kernels finds, for a loss of %s', async (text, share) => {
    const random = seeded(seed);
    for (let run = 0; run < cases(30); run++) {
      const log = randomLog(random);
      const { clients, peaks, suggestions } = await reportOf(log, text);
      const most = Math.floor(clients * share + 1e-9);

      for (const [i, { policy, limit, clients: touched, denied, deniedSucceeded }] of suggestions.windows.entries()) {
        const window = policy.split(' ').at(-1) as '1s';
        const make = (size: number): Policy => fixedWindow({ limit: size, window });
        expect({ policy, limit }).toEqual({ policy, limit: smallest(make, log, most) });
        expect({ clients: touched, denied, deniedSucceeded }).toEqual(replayed(make(limit), log));
        expect(peaks[i]).toMatchObject({
          window,
          p50: smallest(make, log, Math.floor(clients / 2)),
          p90: smallest(make, log, Math.floor(clients / 10 + 1e-9)),
          max: smallest(make, log, 0),
        });
      }
    }
  });
});
