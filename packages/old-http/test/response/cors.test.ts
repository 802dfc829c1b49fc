import { describe, expect, it } from '@jest/globals';
import { fixedWindow, type Store } from '@sluice/old-core';
import { createEnforcer } from '@sluice/old-http/spi';
import { testFramework, TestResponse, type TestOptions, type TestRequest } from '@sluice/testkit';

const policy = fixedWindow({ limit: 1, window: '1h' });
const ALLOW = 'access-control-allow-origin';
const EXPOSE = 'access-control-expose-headers';

/** What the answer to the last of so many requests exposes, after a middleware that wrote `before`. */
async function exposed(
  options: Partial<TestOptions>,
  before: Readonly<Record<string, string>> = { [ALLOW]: 'https://a.example' },
  requests = 1,
): Promise<string | undefined> {
  const { enforcer } = createEnforcer<TestRequest, TestResponse>({ policy, ...options } as TestOptions, testFramework);
  let response = new TestResponse();
  for (let i = 0; i < requests; i++) {
    response = new TestResponse();
    for (const [name, value] of Object.entries(before)) response.headers.set(name, value);
    await (async () => enforcer.limit({}, response))().catch(() => undefined);
  }
  return response.headers.get(EXPOSE);
}

describe('the option cors', () => {
  it('exposes our fields where the answer allows an origin (V18)', async () => {
    expect(await exposed({ cors: true })).toBe('RateLimit, RateLimit-Policy, Retry-After');
  });

  it('exposes the same of an answer that denies, and nothing that is not ours', async () => {
    expect(await exposed({ cors: true }, undefined, 2)).toBe('RateLimit, RateLimit-Policy, Retry-After');
    expect(await exposed({ cors: true, throw: true }, undefined, 2)).toBe('RateLimit, RateLimit-Policy, Retry-After');
  });

  it.each([
    ['ETag', 'ETag, RateLimit, RateLimit-Policy, Retry-After'],
    ['X-A,X-B', 'X-A, X-B, RateLimit, RateLimit-Policy, Retry-After'],
    ['retry-after, RATELIMIT', 'retry-after, RATELIMIT, RateLimit-Policy'],
    ['RateLimit, RateLimit-Policy, Retry-After', 'RateLimit, RateLimit-Policy, Retry-After'],
    ['', 'RateLimit, RateLimit-Policy, Retry-After'],
    ['*', '*, RateLimit, RateLimit-Policy, Retry-After'],
  ])('adds to the list %j, without repeating what stands there', async (list, expected) => {
    expect(await exposed({ cors: true }, { [ALLOW]: '*', [EXPOSE]: list })).toBe(expected);
  });

  it.each<[TestOptions['headers'], string]>([
    ['draft-7', 'RateLimit, RateLimit-Policy, Retry-After'],
    ['draft-6', 'RateLimit-Limit, RateLimit-Policy, RateLimit-Remaining, RateLimit-Reset, Retry-After'],
    [{ legacy: 'epoch' }, 'Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset'],
    [false, 'Retry-After'],
  ])('exposes the fields of the format %j', async (headers, expected) => {
    expect(await exposed({ cors: true, headers })).toBe(expected);
  });

  it('exposes Retry-After on a client of the deny list no less than on others', async () => {
    expect(await exposed({ cors: true, deny: ['192.0.2.1'] })).toBe('Retry-After');
  });

  it.each<[string, Partial<TestOptions>, Readonly<Record<string, string>>]>([
    ['where the answer allows no origin', { cors: true }, {}],
    ['without the option', {}, { [ALLOW]: '*' }],
    ['when it says false', { cors: false }, { [ALLOW]: '*' }],
    ['for a request that is skipped', { cors: true, skip: () => true }, { [ALLOW]: '*' }],
    ['for a client that is allowed', { cors: true, allow: ['192.0.2.1'] }, { [ALLOW]: '*' }],
    ['in report mode', { cors: true, mode: 'report' }, { [ALLOW]: '*' }],
  ])('exposes nothing %s', async (_when, options, before) => {
    expect(await exposed(options, before, 2)).toBeUndefined();
  });

  it('exposes no fields that are not sent, while the store is away', async () => {
    const store: Store = {
      source: 'redis',
      perform: () => {
        throw new Error('away');
      },
    };

    expect(await exposed({ cors: true, store, onStoreError: 'allow' })).toBe('Retry-After');
  });
});
