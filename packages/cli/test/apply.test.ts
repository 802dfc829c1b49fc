import { beforeEach, describe, expect, it } from '@jest/globals';
import { contents, runSluice, useCli } from './sluice.ts';

const cli = useCli();
beforeEach(async () => {
  await cli.admin.flushall();
});

const BOTH = `
policies:
  orders:
    fixedWindow: { limit: 100, window: 1m }
    apps: [checkout, billing]
    carryOver: keep
  search:
    tokenBucket: { capacity: 20, refill: 10, every: 1s }
    apps: [web]
`;
const CHANGED = BOTH.replace('limit: 100', 'limit: 50');
const apply = (text: string, ...args: readonly string[]) =>
  cli.sluice('policy', 'apply', '-f', cli.file(text), ...args);
const names = async (): Promise<readonly string[]> =>
  ((await cli.json('policy', 'list')) as readonly { name: string }[]).map(({ name }) => name);

describe('policy apply', () => {
  it('puts the policies of the file, and prints what changed', async () => {
    const { code, out, err } = await apply(BOTH);

    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out.split('\n')).toEqual([
      'NAME    CHANGE   POLICY                     APPS',
      'orders  created  fixedWindow 100 per 1m     billing, checkout',
      'search  created  tokenBucket 20, 10 per 1s  web',
      '2 created',
    ]);
    expect(await names()).toEqual(['orders', 'search']);
  });

  it('changes not a byte when the same file is applied again', async () => {
    await apply(BOTH);
    const before = await contents(cli.admin);

    const { code, out } = await apply(BOTH);

    expect(code).toBe(0);
    expect(out).toContain('2 unchanged');
    expect(await contents(cli.admin)).toEqual(before);
  });

  it('changes only what is different', async () => {
    await apply(BOTH);

    const { out } = await apply(CHANGED);

    expect(out).toContain('orders  changed    fixedWindow 50 per 1m');
    expect(out).toContain('1 changed, 1 unchanged');
  });

  it('prints its changes as JSON', async () => {
    await apply(BOTH);

    const { out } = await apply(CHANGED, '--json');

    expect(JSON.parse(out)).toMatchObject([
      { name: 'orders', change: 'changed', policy: { limit: 50 }, apps: ['billing', 'checkout'] },
      { name: 'search', change: 'unchanged', policy: { capacity: 20 }, apps: ['web'] },
    ]);
  });

  it('reads standard input and JSON', async () => {
    const input = JSON.stringify({
      policies: { orders: { slidingWindow: { limit: 5, window: '1m' }, apps: ['web'] } },
    });

    const { code, out } = await runSluice(['policy', 'apply', '-f', '-', '--redis', cli.url], { input });

    expect(code).toBe(0);
    expect(out).toContain('orders  created  slidingWindow 5 per 1m  web');
  });

  it('resolves YAML anchors', async () => {
    const { code, out } = await apply(
      'policies:\n  a: { fixedWindow: &w { limit: 5, window: 1m }, apps: &apps [web] }\n  b: { fixedWindow: *w, apps: *apps }\n',
    );

    expect(code).toBe(0);
    expect(out).toContain('b     created  fixedWindow 5 per 1m  web');
  });
});

describe('policy apply --dry-run', () => {
  it('prints what would change, and changes nothing', async () => {
    await apply(BOTH);
    await cli.sluice('policy', 'put', 'old', 'fixedWindow', '--limit', '1', '--window', '1m', '--app', 'web');
    const before = await contents(cli.admin);

    const { code, out } = await apply(CHANGED, '--dry-run', '--prune');

    expect(code).toBe(0);
    expect(out).toContain('orders  changed');
    expect(out).toContain('old     removed');
    expect(out).toContain('1 would be changed, 1 would be unchanged, 1 would be removed');
    expect(await contents(cli.admin)).toEqual(before);
  });
});

describe('policy apply --prune', () => {
  it('removes policies that the file does not name', async () => {
    await apply(BOTH);

    const { out } = await apply(BOTH.replace(/ {2}search:.*$/s, ''), '--prune');

    expect(out).toContain('search  removed    tokenBucket 20, 10 per 1s');
    expect(out).toContain('1 unchanged, 1 removed');
    expect(await names()).toEqual(['orders']);
  });

  it('happens only with the flag', async () => {
    await apply(BOTH);

    await apply(BOTH.replace(/ {2}search:.*$/s, ''));

    expect(await names()).toEqual(['orders', 'search']);
  });

  it('removes all policies only when the file states an empty list', async () => {
    await apply(BOTH);

    const empty = await apply('', '--prune');
    const none = await apply('policies: {}', '--prune');

    expect(empty.code).toBe(2);
    expect(none.code).toBe(0);
    expect(await names()).toEqual([]);
  });
});

describe('a file that is wrong', () => {
  it('gets every problem reported by line, and changes nothing', async () => {
    const { code, out, err } = await apply(
      [
        'policies:',
        '  orders:',
        '    fixedWindow: { limit: 100, window: 1m }',
        '    app: [checkout]',
        '  search:',
        '    tokenBucket:',
        '      capacity: 20',
        '      refil: 10',
        '      every: 1s',
        '    apps: [web]',
        '  9lives:',
        '    slidingWindow: { limit: 0, window: 1m }',
        '    apps: [5]',
        '    carryOver: all',
        '  twice:',
        '    fixedWindow: { limit: 1, window: 1m }',
        '    slidingWindow: { limit: 1, window: 1m }',
        '    apps: [web]',
        'polices: {}',
      ].join('\n'),
    );

    expect({ code, out }).toEqual({ code: 2, out: '' });
    const path = cli.file('');
    expect(
      err
        .replace(/^sluice: /, '')
        .replaceAll(`${path}:`, '')
        .split('\n'),
    ).toEqual([
      '2:3: orders needs apps: the names of the applications that may use it, such as apps: [checkout]',
      '4:5: orders has no field "app"; did you mean apps?',
      expect.stringMatching(/^8:7: tokenBucket has no option "refil" .*did you mean "refill"\?/),
      expect.stringMatching(/^11:3: name must be a letter followed by /),
      '13:5: 9lives needs apps: the names of the applications that may use it, such as apps: [checkout]',
      '14:5: carryOver of 9lives must be keep or reset',
      '17:5: twice has two policies, fixedWindow and slidingWindow; only one is allowed',
      '19:1: the file has no field "polices"; did you mean policies?',
    ]);
    expect(await contents(cli.admin)).toEqual([]);
  });

  it.each([
    ['', 'must hold policies:'],
    ['[]', 'must hold policies:'],
    ['policies:', 'policies must hold a policy under each name'],
    ['policies: { orders: 5 }', 'orders must hold a policy such as fixedWindow:'],
    ['policies: { orders: { apps: [a] } }', 'orders has no policy: one of fixedWindow'],
    ['policies: { orders: { fixedWindow: 5, apps: [a] } }', 'fixedWindow must hold its options'],
    [
      'policies: { orders: { fixedWindow: { limit: 1, window: 1m, name: x }, apps: [a] } }',
      'fixedWindow must not have a name here',
    ],
    ['policies: { 9: { fixedWindow: { limit: 1, window: 1m }, apps: [a] } }', 'must be a letter followed by'],
    ['policies: { a: { fixedWindow: { limit: 1, window: 1m }, apps: checkout } }', 'a needs apps:'],
    ['policies: { a: { fixedWindow: { limit: 1, window: 1m }, apps: [5] } }', 'a needs apps:'],
    ['policies: { a: {}, a: {} }', 'Map keys must be unique'],
    ['policies: { a: ', ':1:'],
  ])('is rejected with its line: %s', async (text, expected) => {
    const { code, err } = await apply(text);

    expect(code).toBe(2);
    expect(err).toContain(expected);
    expect(err).toMatch(/policies\.yaml:\d+:\d+: /);
  });

  it.each([
    'root:*:19000:0:99999:7::: x\nhunter2: [1]\n',
    '{ "name": "hunter2", "hunter2": 1 }',
    'password: *hunter2\n',
    'password: !hunter2 x\npassword: "hunter2" hunter2\n',
    'password: |hunter2\n  x\n',
    'a: b\n]hunter2\n',
    'TOKEN=hunter2\nOTHER="hunter2\n',
  ])('shows no text of a file that holds something else: %j', async (text) => {
    const { code, err } = await apply(text);

    expect(code).toBe(2);
    expect(err).not.toMatch(/hunter2|root|name"/);
    expect(err).toMatch(/policies\.yaml:\d+:\d+: /);
  });

  it('may be missing', async () => {
    const { code, err } = await cli.sluice('policy', 'apply', '-f', 'nowhere.yaml');

    expect({ code, err }).toEqual({
      code: 2,
      err: expect.stringContaining('sluice: cannot read nowhere.yaml: ENOENT'),
    });
  });

  it('is checked as a whole, against Redis too, before anything is put', async () => {
    const { code, err } = await apply(
      `${BOTH}\n  long:\n    fixedWindow: { limit: 1, window: 1m }\n    apps: [${'x'.repeat(200)}]\n`,
    );

    expect(code).toBe(2);
    expect(err).toMatch(/policies\.yaml:\d+:3: apps/);
    expect(await contents(cli.admin)).toEqual([]);
  });
});
