import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { createLimiter, fixedWindow, redisStore, tokenBucket } from '@sluice/old-core';
import { batch, general } from '@sluice/old-core/spi';

interface Sent {
  readonly command: 'evalsha' | 'eval';
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** The commands sent to Redis by decisions, edits and refunds of a key. */
async function sentFor(subject: string): Promise<readonly Sent[]> {
  const sent: Sent[] = [];
  const store = redisStore(
    {
      evalsha: (script, keys, args) => {
        sent.push({ command: 'evalsha', script, keys, args });
        return Promise.reject(new Error('NOSCRIPT No matching script.'));
      },
      eval: (script, keys, args) => {
        sent.push({ command: 'eval', script, keys, args });
        const nothing = keys.map(() => null);
        return Promise.resolve(script === batch.source ? '1795262400250\n' : [1_795_262_400_250, ...nothing]);
      },
    },
    { prefix: 'sluice', check: false },
  );
  const limiter = createLimiter({
    store,
    onStoreError: 'throw',
    policy: [
      fixedWindow({ name: 'a', limit: 5, window: '1m' }),
      tokenBucket({ name: 'b', capacity: 5, refill: 1, every: '1s' }),
    ],
  });
  const decision = await limiter.consume(subject, 2);
  await limiter.refund(decision);
  await limiter.block(subject, '1m');
  await limiter.unblock(subject);
  await limiter.reset(subject);
  return sent;
}

const hostile: fc.Arbitrary<string> = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.string({ minLength: 1, unit: 'grapheme' }),
  fc.constantFrom(
    '"); redis.call("FLUSHALL") --',
    ']] redis.call("FLUSHALL") --[[',
    '{a}{b}',
    '}:default:2f{',
    'a\ud800{',
    '日'.repeat(256),
    '\r\nFLUSHALL\r\n',
    '*1\r\n$8\r\nFLUSHALL\r\n',
    '\0',
    '../../etc/passwd',
    '-probe',
    '#' + 'A'.repeat(22),
    'x'.repeat(10_000),
  ),
);

describe('the data sent to Redis', () => {
  it('is two constant scripts, whose text holds no caller text', async () => {
    const scripts = [general, batch];
    for (const { source, sha1 } of scripts) expect(createHash('sha1').update(source).digest('hex')).toBe(sha1);

    await fc.assert(
      fc.asyncProperty(hostile, async (subject) => {
        for (const { command, script } of await sentFor(subject)) {
          expect(scripts.map(({ source, sha1 }) => (command === 'eval' ? source : sha1))).toContain(script);
        }
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });

  it('holds the key in KEYS alone, well-formed, short, and between the only braces', async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (subject) => {
        for (const { keys, args } of await sentFor(subject)) {
          for (const key of keys) {
            expect(key).toMatch(/^sluice:\{[^{}]{1,256}\}:default:2f\.a,t\.b$/);
            expect(Buffer.from(key).toString()).toBe(key);
          }
          for (const arg of args) expect(arg).toMatch(/^(-?\d+|[a-zA-Z]+)$/);
        }
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });
});

describe('a key object from outside', () => {
  it.each(['__proto__', 'constructor', 'toString'])('does not name a limit with %s', async (name) => {
    const limits = [{ name: 'per-ip', policy: fixedWindow({ limit: 1, window: '1h' }) }] as const;
    const keys = JSON.parse(`{"per-ip":"192.0.2.1","${name}":"x"}`) as { 'per-ip': string };

    await expect(createLimiter({ limits }).consume(keys)).rejects.toMatchObject({ code: 'SLUICE_KEY_INVALID' });
  });
});
