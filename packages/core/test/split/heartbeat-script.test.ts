import { beforeEach, describe, expect, it } from '@jest/globals';
import { heartbeat } from '../../src/split/redis/scripts.generated.ts';
import { cases, seeded, testSeed, useRedis } from '@sluice/testkit';
import { RegistryModel, type HeartbeatCall, type Reply } from './worlds/registry-model.ts';

const redis = useRedis();
beforeEach(async () => {
  await redis.admin.flushall();
});

/** The order of members has no meaning. */
function sorted([atMs, ttlMs, joinedAtMs, change, members]: Reply): object {
  return { atMs, ttlMs, joinedAtMs, change, members: members.split(' ').sort() };
}

describe('the heartbeat’s script and its model', () => {
  /** The production script but for its clock. */
  const source = heartbeat.source.replace(
    'local time = redis.call("TIME")',
    'local instant = table.remove(ARGV) local time = { string.sub(instant, 1, -4), string.sub(instant, -3) .. "000" }',
  );
  const script = async ({ id, weight, ttlMs, change }: HeartbeatCall, nowMs: number): Promise<Reply> =>
    (await redis.admin.eval(source, 1, 'sluice:members:parity', id, weight, ttlMs, change, nowMs)) as Reply;

  it.each([1, 2, 3, 4])('return the same replies, whichever members come and go (%i)', async (seed) => {
    const random = seeded(testSeed(0) + seed);
    const model = new RegistryModel();
    const known = new Map<string, string>();
    let nowMs = 1_795_262_400_000;

    for (let step = 0; step < cases(1500); step++) {
      nowMs += random.percent(3) ? random.integer(-2000, 60_000) : random.integer(0, 400);
      const id = `i${String(random.integer(1, 9))}`;
      const change = random.percent(3) ? '7 1795262400000 i9' : (known.get(id) ?? '');
      const weight = random.percent(10) ? 0 : random.percent(80) ? 1 : random.integer(1, 1_000_000);
      const call = { id, weight, ttlMs: random.percent(2) ? 4000 : 3000, change };

      const expected = model.heartbeat(call, nowMs);
      const reply = await script(call, nowMs);

      expect({ step, ...sorted(reply) }).toEqual({ step, ...sorted(expected) });
      known.set(id, reply[3]);
    }
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
