import { afterEach, describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { LimiterCore, type Limit } from '@sluice/core/spi';
import { wantOf } from '../src/limits.ts';
import { logDenials } from '../src/log-denials.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** A core whose denials are logged, unless they are of a rule in shadow mode. */
function logged(isShadow = false): { readonly core: LimiterCore; readonly limit: Limit; readonly lines: string[] } {
  const core = new LimiterCore({ name: 'service', shared: true });
  const lines: string[] = [];
  ends.push(
    () => core.close(),
    logDenials(
      core,
      () => isShadow,
      (line) => lines.push(line),
    ),
  );
  return { core, limit: core.limitFor(fixedWindow({ name: 'login', limit: 1, window: '1h' })), lines };
}

describe('the first denial of a key', () => {
  it('is logged with its limit, and no further one in that minute; what is allowed or shown is not', async () => {
    const { core, limit, lines } = logged();
    const other = logged();

    for (const key of ['ann', 'ann', 'ann', 'bob', 'a"\n\u001b', 'a"\n\u001b']) {
      await core.decide('take', [wantOf(limit, key, 1)]);
      await core.decide('peek', [wantOf(limit, key, 1)]);
    }

    expect(lines).toEqual([
      expect.stringMatching(/^"ann" is denied by login \(fixedWindow 1 per 1h\), for (\d+s|1h|60m)$/),
      expect.stringMatching(/^"a\\"\\n\\u001b" is denied by login/),
    ]);
    expect(other.lines).toEqual([]);
  });

  it('is not logged if it is of a rule in shadow mode, which denies no request', async () => {
    const { core, limit, lines } = logged(true);

    for (let i = 0; i < 2; i++) await core.decide('take', [wantOf(limit, 'ann', 1)]);

    expect(lines).toEqual([]);
  });

  it('names the key of the limit that denied, of several that are decided together', async () => {
    const { core, limit, lines } = logged();
    const wide = core.limitFor(fixedWindow({ name: 'all', limit: 9, window: '1h' }));

    for (let i = 0; i < 2; i++) await core.decide('take', [wantOf(wide, 'all', 1), wantOf(limit, 'k'.repeat(300), 1)]);

    expect(lines).toEqual([expect.stringMatching(/^"k{256}"\.\.\. is denied by login /)]);
  });

  it('is logged for a hundred keys of a minute', async () => {
    const { core, limit, lines } = logged();

    for (let round = 0; round < 3; round++) {
      for (let i = 0; i < 130; i++) await core.decide('take', [wantOf(limit, `key-${String(i)}`, 1)]);
    }

    expect(lines).toHaveLength(100);
  });
});
