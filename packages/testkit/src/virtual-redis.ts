import { createHash } from 'node:crypto';
import type { Clock, IoredisClient, RedisStoreOptions, Store } from '@sluice/core';
import { createRedisStore, general, batch } from '@sluice/core/internal';

/**
 * The one line by which the test build of the general script differs: it takes the instant from its last argument, instead of
 * from the server.
 */
export const PRODUCTION_LINE = 'local time = redis.call("TIME")';
export const TEST_LINE =
  'local instant = table.remove(ARGV) local time = { string.sub(instant, 1, -4), string.sub(instant, -3) .. "000" }';

interface Script {
  readonly source: string;
  readonly sha1: string;
}

function testBuildOf({ source }: Script): Script {
  const changed = source.replace(PRODUCTION_LINE, TEST_LINE);
  return { source: changed, sha1: createHash('sha1').update(changed).digest('hex') };
}

/** The test build of the general script. */
export function testGeneral(): Script {
  return testBuildOf(general);
}

/** Some fourteen years: a whole multiple of every window up to ten days that people write. */
const ERA_MS = 2 * 2520 * 86_400_000;

/**
 * A Redis store that takes its instants from `clock`. Redis itself stays in the present, so instants are
 * shifted into the future, all by the same whole number of windows: no expiry lies in the past. `atMs` in decisions is
 * shifted back.
 *
 * @param eraMs - The shift. Windows that do not divide the default one need a clock that is itself in the future,
 * and 0 here: then the store decides in batches as well, which it does not when it shifts.
 */
export function virtualRedisStore(
  client: IoredisClient,
  clock: Clock,
  options: RedisStoreOptions = {},
  eraMs: number = ERA_MS,
): Store {
  const scripts = { general: testGeneral(), batch: testBuildOf(batch) };
  const store = createRedisStore(client, options, scripts, () => Math.floor(clock.now()) + eraMs);
  if (eraMs === 0) return store;
  return {
    source: 'redis',
    oneSubjectPerCall: false,
    close: () => store.close(),
    async perform(requests) {
      const shifted = requests.map((request) =>
        (request.op === 'refund' || request.op === 'charge') && request.chargedUntilMs !== undefined
          ? { ...request, chargedUntilMs: request.chargedUntilMs.map((atMs) => atMs + eraMs) }
          : request,
      );
      const answers = await store.perform(shifted);
      return answers.map((answer) => (answer instanceof Error ? answer : { ...answer, atMs: answer.atMs - eraMs }));
    },
  };
}
