import { afterEach, describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { LimiterCore, limitOfPolicy, type LimitRef } from '@sluice/old-core/spi';
import { FirstDenials, logDenials } from '../src/log-denials.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function coreOf(): { readonly core: LimiterCore; readonly limit: LimitRef } {
  const core = new LimiterCore({ name: 'service', shared: true });
  ends.push(() => core.close());
  return { core, limit: limitOfPolicy(core, fixedWindow({ name: 'login', limit: 1, window: '1h' })) };
}

describe('the first denial of a key', () => {
  it('is logged with its limit, and no further one in that minute; what is allowed or shown is not', async () => {
    const { core, limit } = coreOf();
    const lines: string[] = [];
    ends.push(
      logDenials(
        core,
        () => false,
        (line) => lines.push(line),
      ),
    );

    for (const subject of ['ann', 'ann', 'ann', 'bob', 'a"\n\u001b']) {
      await core.decide('consume', [{ limit, subject, cost: 1 }]);
      await core.decide('peek', [{ limit, subject, cost: 1 }]);
    }
    await core.decide('consume', [{ limit, subject: 'a"\n\u001b', cost: 1 }]);

    expect(lines).toEqual([
      expect.stringMatching(/^"ann" is denied by login \(fixedWindow 1 per 1h\), for \d+s$|, for 1h$/),
      expect.stringMatching(/^"a\\"\\n\\u001b" is denied by login/),
    ]);
  });

  it('is not logged for other limiters, nor where a rule in shadow mode denies no request', async () => {
    const { core, limit } = coreOf();
    const other = coreOf();
    const lines: string[] = [];
    ends.push(
      logDenials(
        core,
        (denied) => denied === limit,
        (line) => lines.push(line),
      ),
    );

    for (const one of [{ core, limit }, other]) {
      for (let i = 0; i < 2; i++) await one.core.decide('consume', [{ limit: one.limit, subject: 'ann', cost: 1 }]);
    }

    expect(lines).toEqual([]);
  });

  it('names the key of the limit that denied, of several that are decided together', async () => {
    const { core, limit } = coreOf();
    const wide = limitOfPolicy(core, fixedWindow({ name: 'all', limit: 9, window: '1h' }));
    const lines: string[] = [];
    ends.push(
      logDenials(
        core,
        () => false,
        (line) => lines.push(line),
      ),
    );

    for (let i = 0; i < 2; i++) {
      await core.decide('consume', [
        { limit: wide, subject: 'all', cost: 1 },
        { limit, subject: 'hash', cost: 1, key: 'k'.repeat(300) },
      ]);
    }

    expect(lines).toEqual([expect.stringMatching(/^"k{256}"\.\.\. is denied by login /)]);
  });

  it('is logged for a hundred keys of a minute, and the number of further denials at its end', () => {
    const { limit } = coreOf();
    const lines: string[] = [];
    const denials = new FirstDenials((line) => lines.push(line));
    const deny = (i: number): void => {
      const subject = `key-${String(i)}`;
      const numbers = { policyName: 'login', policy: undefined, outcome: 'denied', retryAfterMs: null } as const;
      denials.add({ limit, subject, key: subject, ...numbers });
    };

    for (let round = 0; round < 2; round++) for (let i = 0; i < 130; i++) deny(i);
    const inFirst = lines.length;
    denials.turn();
    deny(0);

    expect(inFirst).toBe(100);
    expect(lines.slice(100)).toEqual([
      'and 60 denials of other keys in that minute, which are not logged',
      '"key-0" is denied by login',
    ]);
  });
});
