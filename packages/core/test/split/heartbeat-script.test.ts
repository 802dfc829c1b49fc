import { beforeEach, describe, expect, it } from '@jest/globals';
import { heartbeat } from '../../src/split/redis/scripts.generated.ts';
import { cases, seeded, testSeed, useRedis } from '@sluice/testkit';
import { RegistryModel, type HeartbeatCall } from './worlds/registry-model.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

type Reply = readonly [atMs: number, longestTtlMs: number, known: number, epochs: string];

/** The order of the changes in one epoch, and of all members, has no meaning. */
function sorted([atMs, ttlMs, known, epochs]: Reply): unknown {
  const changes = epochs.split(';').map((epoch) => {
    const [number, fromMs, by, ...rest] = epoch.split(' ');
    return [number, fromMs, by, ...rest.sort()].join(' ');
  });
  return { atMs, ttlMs, known, changes };
}

const markOf = ([, , , epochs]: Reply, before: string): string =>
  epochs === '' ? before : (epochs.split(';').at(-1) ?? '').split(' ').slice(0, 3).join(' ') || before;

describe('the heartbeat’s script and its model', () => {
  /** The production script but for its clock. */
  const source = heartbeat.source.replace(
    'local time = redis.call("TIME")',
    'local instant = table.remove(ARGV) local time = { string.sub(instant, 1, -4), string.sub(instant, -3) .. "000" }',
  );
  const script = async ({ id, weight, ttlMs, mark }: HeartbeatCall, key: string, nowMs: number): Promise<Reply> =>
    (await redis.admin.eval(source, 1, key, id, weight, ttlMs, mark, nowMs)) as Reply;

  it.each([1, 2, 3, 4])('return the same replies, whichever members come and go (%i)', async (seed) => {
    const random = seeded(testSeed(0) + seed);
    const model = new RegistryModel();
    const marks = new Map<string, string>();
    let nowMs = 1_795_262_400_000;

    for (let step = 0; step < cases(1500); step++) {
      nowMs += random.percent(3) ? random.integer(-2000, 60_000) : random.integer(0, 400);
      const id = `i${String(random.integer(1, 9))}`;
      const known = random.percent(3) ? '7 1795262400000 i9' : (marks.get(id) ?? '');
      const weight = random.percent(10) ? 0 : random.percent(80) ? 1 : random.integer(1, 1_000_000);
      const call = { id, weight, ttlMs: random.percent(2) ? 4000 : 3000, mark: random.percent(5) ? '' : known };

      const expected = model.heartbeat(call, nowMs);
      const reply = await script(call, 'sluice:members:parity', nowMs);

      expect({ step, ...(sorted(reply) as object) }).toEqual({ step, ...(sorted(expected) as object) });
      marks.set(id, markOf(reply, known));
    }
  });

  it('forget an epoch when the one after it is old, and know a mark for as long', async () => {
    const model = new RegistryModel();
    const say = async (id: string, mark: string, atMs: number): Promise<Reply> => {
      const call = { id, weight: 1, ttlMs: 1000, mark };
      const reply = await script(call, 'sluice:members:old', atMs);
      expect(sorted(reply)).toEqual(sorted(model.heartbeat(call, atMs)));
      return reply;
    };
    const first = markOf(await say('a', '', 1000), '');

    expect((await say('a', first, 50_000))[2]).toBe(1);
    expect((await say('b', '', 50_000))[2]).toBe(0);
    expect((await say('a', first, 50_500))[2]).toBe(1);
    expect((await say('c', '', 60_001))[2]).toBe(0);
    expect((await say('a', first, 60_002))[2]).toBe(0);
  });
});

describe('the key of a group', () => {
  it('goes by itself when all have been gone for long, and never lives without an end', async () => {
    await redis.admin.eval(heartbeat.source, 1, 'sluice:members:g', 'a', 1, 3000, '');

    const leftMs = await redis.admin.pttl('sluice:members:g');

    expect(leftMs).toBeGreaterThan(3000);
    expect(leftMs).toBeLessThanOrEqual(30_000);
  });
});
