import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import { read } from './reading.ts';

const SAMPLE = `domain: shop
descriptors:
  - &first
    key: plan
    value: gold*
    share_threshold: true
    detailed_metric: true
    rate_limit: { unit: minute, requests_per_unit: 20, name: gold, replaces: [{ name: all }] }
    metadata: { a: [1, 2.5, null, 'x'] }
    descriptors:
      - key: user
        sluice: { tokenBucket: { capacity: 20, refill: 10, every: 1s } }
      - key: device
        shadow_mode: yes
        sluice: [{ fixedWindow: { name: a, limit: 1, window: 1s } }, { slidingLog: { name: b, limit: 1, window: 1s } }]
  - { <<: *first, key: other }
  - { key: free, rate_limit: { unlimited: true } }
limits:
  login: { fixedWindow: { limit: 5, window: 1m } }
  orders: { managed: orders }
forward_auth:
  trusted_proxies: [127.0.0.1, 10.0.0.0/8]
  rules:
    - { name: api, match: { paths: ['/api/*'], methods: [GET] }, key: [ip, header:x], cost: 2, policy: { slidingWindow: { limit: 5, window: 1m } } }
    - { match: { paths: /health }, skip: true }
`;
const PIECES =
  `{,},[,],- ,: ,\n,  ,*first,&x ,<<: ,',",#,|,>,? ,!!int ,!x ,---\n,...\n,%YAML 1.2\n,\t,\0,\ufffe,null,~,0x1,.nan,1e999,true,__proto__,constructor,😀,\ud800`.split(
    ',',
  ) as [string, ...string[]];

function mutated(random: Random): string {
  let text = SAMPLE;
  for (let changes = random.integer(1, 4); changes > 0; changes--) {
    const at = random.integer(0, text.length);
    const length = random.percent(50) ? random.integer(0, 12) : 0;
    const piece = random.percent(20) ? text.slice(at, at + random.integer(0, 200)) : random.pick(PIECES);
    text = text.slice(0, at) + piece + text.slice(at + length);
  }
  return random.percent(10) ? text.slice(0, random.integer(0, text.length)) : text;
}

describe('a mutated file', () => {
  it('is read, or is an error with a place for each problem, and nothing else', () => {
    const random = seeded(testSeed(19));
    let wrong = 0;
    const runs = cases(1_000);
    for (let i = 0; i < runs; i++) {
      const text = mutated(random);
      try {
        read(text);
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw new Error(`for ${JSON.stringify(text)}`, { cause: error });
        wrong++;
        const lines = text.split(/\n/).length;
        expect(error.problems.length).toBeGreaterThan(0);
        for (const { line, column, message } of error.problems) {
          expect([line >= 1 && line <= lines + 1, column >= 1, message !== '']).toEqual([true, true, true]);
        }
      }
    }

    expect(wrong).toBeGreaterThan(runs / 4);
    expect(wrong).toBeLessThan(runs);
  });
});
