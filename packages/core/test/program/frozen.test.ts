import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { seeded } from '@sluice/testkit';
import { anyPolicy, NAMES } from './any-policy.ts';
import { ProgramStore } from './stores.ts';
import { Traffic } from './traffic.ts';

/** Of the figures that were answered. What changes them on purpose changes these, and says why. */
const DIGESTS: Readonly<Record<string, string>> = {
  fixedWindow: '0f9b2df71a9616f8',
  slidingWindow: 'cb013dca06ff9f5a',
  slidingCounter: 'e93c6464f9a4c4d5',
  slidingLog: '16e48ad7c80ee8f7',
  tokenBucket: '748fd17f616809a7',
  intervalBucket: '1c3e0fcb856b497c',
  leakyBucket: '761f75b50a77cffc',
  concurrency: '1d758a86e289969f',
};

describe('two policies of one kind on the same keys, with every operation', () => {
  it.each(NAMES)('answer as they did: %s', (kind) => {
    const random = seeded(20_261_129);
    const digest = createHash('sha256');
    for (let trace = 0; trace < 300; trace++) {
      const store = new ProgramStore();
      const traffic = new Traffic(random, '', [anyPolicy(random, kind), anyPolicy(random, kind)], true, 50);
      for (let turn = 0; turn < 40; turn++) {
        const requests = traffic.next();
        store.clock.atMs = traffic.nowMs;
        for (const [op, asks] of requests) {
          const answer = store.perform(op, asks);
          traffic.learn(answer);
          digest.update(JSON.stringify(answer.figures));
        }
      }
    }

    expect(digest.digest('hex').slice(0, 16)).toBe(DIGESTS[kind]);
  });
});
