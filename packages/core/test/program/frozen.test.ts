import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { seeded } from '@sluice/testkit';
import { anyPolicy, NAMES } from './any-policy.ts';
import { ProgramStore } from './stores.ts';
import { Traffic } from './traffic.ts';

/** Of the figures that were answered. What changes them on purpose changes these, and says why. */
const DIGESTS: Readonly<Record<string, string>> = {
  fixedWindow: '536541386789da70',
  slidingWindow: 'd9918092ef3db3fc',
  slidingCounter: '26aac1b4b48d66ba',
  slidingLog: '7fe25bd598e12c39',
  tokenBucket: 'b320bc1af811f7fd',
  intervalBucket: 'c6a5e20942cbf234',
  leakyBucket: '3c109683e48f6bf6',
  concurrency: 'efb9c6ecd91be593',
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
