import { afterEach, describe, expect, it } from '@jest/globals';
import { betterAuthStorage, type BetterAuthStorage, type BetterAuthStorageOptions } from '@sluice/compat/better-auth';
import { memoryStore, redisStore, silenceWarnings } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { betterAuth, type BetterAuthOptions } from 'better-auth';
import { memoryAdapter } from 'better-auth/adapters/memory';

type Rules = Omit<NonNullable<BetterAuthOptions['rateLimit']>, 'customStorage'>;

/** Asks an application of better-auth; `from` is the address that its proxy has seen. */
type Ask = (path: string, from?: string) => Promise<Response>;

silenceWarnings('SLUICE_STORE_AWAY');
const storages: BetterAuthStorage[] = [];
afterEach(async () => {
  for (const storage of storages.splice(0)) await storage.close();
});

function application(options: BetterAuthStorageOptions, rules: Rules = { window: 60, max: 5 }): Ask {
  const customStorage = betterAuthStorage(options);
  storages.push(customStorage);
  const auth = betterAuth({
    baseURL: 'http://localhost',
    secret: 'a secret of the tests, which is long enough to be one',
    database: memoryAdapter({ user: [], session: [], account: [], verification: [] }),
    emailAndPassword: { enabled: true },
    telemetry: { enabled: false },
    logger: { disabled: true },
    rateLimit: { ...rules, enabled: true, customStorage },
  });
  return async (path, from = '203.0.113.7') => {
    const isSignIn = path.startsWith('/sign-in');
    const headers = { 'x-forwarded-for': from, 'content-type': 'application/json', origin: 'http://localhost' };
    const body = isSignIn ? { body: JSON.stringify({ email: 'ann@example.com', password: 'a guess' }) } : {};
    const method = isSignIn ? 'POST' : 'GET';
    return auth.handler(new Request(`http://localhost/api/auth${path}`, { method, headers, ...body }));
  };
}

async function statuses(count: number, ask: () => Promise<Response>): Promise<readonly number[]> {
  const answers = await Promise.all(Array.from({ length: count }, ask));
  return answers.map(({ status }) => status).toSorted((a, b) => a - b);
}

const SIGN_IN = '/sign-in/email';

describe('better-auth', () => {
  it('allows what its rule allows, of requests at once too, by address and path', async () => {
    const ask = application({});

    expect(await statuses(7, async () => ask('/ok'))).toEqual([200, 200, 200, 200, 200, 429, 429]);
    expect(await statuses(1, async () => ask('/ok', '203.0.113.8'))).toEqual([200]);
    expect(await statuses(1, async () => ask('/get-session'))).toEqual([200]);
  });

  it('keeps its own rule for sign-ins, and those of custom rules', async () => {
    const customRules = { '/ok': { window: 10, max: 1 }, '/get-session': false } as const;
    const ask = application({}, { window: 60, max: 3, customRules });

    expect(await statuses(5, async () => ask(SIGN_IN))).toEqual([401, 401, 401, 429, 429]);
    expect(await statuses(2, async () => ask('/ok'))).toEqual([200, 429]);
    expect(await statuses(5, async () => ask('/get-session'))).toEqual([200, 200, 200, 200, 200]);
  });

  it('tells how long to wait, after which the request is allowed', async () => {
    const clock = fakeClock(300);
    const ask = application({ store: memoryStore({ clock }) }, { window: 10, max: 2 });
    await statuses(2, async () => ask('/ok'));

    const denied = await ask('/ok');
    const seconds = Number(denied.headers.get('x-retry-after'));
    clock.advance(seconds * 1000 - 1000);
    const early = await ask('/ok');
    clock.advance(1000);

    expect([denied.status, early.status, (await ask('/ok')).status]).toEqual([429, 429, 200]);
    expect([10, 11]).toContain(seconds);
  });

  it('does not prolong the window at every request, as its own storages do', async () => {
    const clock = fakeClock(0);
    const ask = application({ store: memoryStore({ clock }) }, { window: 10, max: 2 });
    const seen: number[] = [];

    for (let i = 0; i < 6; i++) {
      seen.push((await ask('/ok')).status);
      clock.advance(6000);
    }

    expect(seen).toEqual([200, 200, 200, 200, 200, 200]);
  });

  it('counts in memory while Redis is away', async () => {
    const ask = application({ store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }), timeoutMs: 60_000 });

    expect(await statuses(7, async () => ask('/ok'))).toEqual([200, 200, 200, 200, 200, 429, 429]);
  });
});
