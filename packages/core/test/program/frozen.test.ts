import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { seeded } from '@sluice/testkit';
import { anyPolicy, NAMES } from './any-policy.ts';
import { ProgramStore } from './stores.ts';
import { Traffic } from './traffic.ts';

/** Of the figures that were answered. What changes them on purpose changes these, and says why. */
const DIGESTS: Readonly<Record<string, string>> = {
  fixedWindow: 'd0ce22fd27e71ff6',
  slidingWindow: '00089b567fe314be',
  slidingCounter: '986d59013138a0cb',
  slidingLog: 'f098587d2fd8b141',
  tokenBucket: '804ac7a480d5adfd',
  intervalBucket: 'c2846c17fba47553',
  leakyBucket: '1791bde44a77ee16',
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
