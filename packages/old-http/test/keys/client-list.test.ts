import { describe, expect, it } from '@jest/globals';
import { byHeader, byIp, byMethod } from '@sluice/old-http';
import { fixedWindow } from '@sluice/old-core';
import { ClientList } from '@sluice/old-http/spi';
import { cases, expectWarnings, testEnforcer, type TestOptions, testSeed } from '@sluice/testkit';
import fc from 'fast-check';

expectWarnings('SLUICE_KEY_MISSING');

const policy = fixedWindow({ limit: 1, window: '1h' });

describe('a list of clients', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['10.1.2.3', '::ffff:10.1.2.3'],
    ['10.1.2.3', '::FFFF:0a01:0203'],
    ['10.1.2.3', '64:ff9b::10.1.2.3'],
    ['10.1.2.3', '10.1.2.3:4711'],
    ['10.1.2.3:80', '10.1.2.3'],
    ['[10.1.2.3]:80', '10.1.2.3'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['64:ff9b::a01:203', '10.1.2.3'],
    ['2001:db8::1', '2001:0DB8:0:0::0:1'],
    ['2001:db8::1', '[2001:db8::1]:443'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['fe80::1', 'fe80::1%eth0'],
    ['fe80::1%eth0', 'fe80::1%eth1'],
    ['10.0.0.0/8', '10.255.255.255'],
    ['10.1.2.3/8', '10.0.0.0'],
    ['10.0.0.0:80/8', '10.9.9.9'],
    ['10.0.0.0/8', '::ffff:10.9.9.9'],
    ['10.0.0.0/8', '64:ff9b::a09:909'],
    ['::ffff:10.0.0.0/104', '10.9.9.9'],
    ['64:ff9b::10.0.0.0/104', '10.9.9.9'],
    ['10.1.2.3/32', '10.1.2.3'],
    ['0.0.0.0/0', '255.255.255.255'],
    ['::ffff:0:0/96', '192.0.2.1'],
    ['::/0', '2001:db8::1'],
    ['::/0', '::1'],
    ['2001:db8::1/128', '2001:db8::1'],
    ['2001:db8::dead:beef/32', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
    ['[2001:db8::]/32', '2001:db8::1'],
    ['fe80::%eth0/10', 'fe80::1%eth1'],
    ['64:ff9b::/32', '64:ff9b:1::1'],
  ])('with %s has the client %s', (entry, address) => {
    expect(new ClientList([entry], 'deny').hasAddress(address)).toBe(true);
  });

  it.each<[string, string | undefined]>([
    ['10.1.2.3', '10.1.2.4'],
    ['10.0.0.0/8', '11.0.0.0'],
    ['10.1.2.3/31', '10.1.2.4'],
    ['0.0.0.0/0', '::1'],
    ['0.0.0.0/0', '2001:db8::1'],
    ['::/0', '10.1.2.3'],
    ['::/0', '::ffff:10.1.2.3'],
    ['::/0', '64:ff9b::10.1.2.3'],
    ['::ffff:0:0/95', '10.1.2.3'],
    ['64:ff9b::/95', '10.1.2.3'],
    ['64:ff9b::/32', '::1'],
    ['2001:db8::/32', '2001:db9::'],
    ['2001:db8::1/127', '2001:db8::2'],
    ['10.1.2.3', undefined],
    ['10.1.2.3', ''],
    ['10.1.2.3', 'unix'],
    ['10.1.2.3', '10.1.2.03'],
  ])('with %s has not the client %s', (entry, address) => {
    expect(new ClientList([entry], 'deny').hasAddress(address)).toBe(false);
  });

  it.each([
    ...['10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/8 ', '10.0.0.0/0x8', '10.0.0.0/1.5'],
    ...['2001:db8::/129', '2001:db8::/', '::1::', ':::', '2001:db8:::1', '1:2:3:4:5:6:7:8:9', 'fe80::/64%eth0'],
    ...['10.0.0.256', '010.0.0.1', '10.0.0.1:123456', ' 10.0.0.1', '10.0.0.1 ', '[10.0.0.1', '[::1', '[::1]/200'],
    ...[
      'fe80::1%eth0/200',
      '10/8',
      '10.0/16',
      '10.0.0/24',
      '10.*',
      '10.0.0.*',
      '10.0.0.1-10.0.0.9',
      '::ffff:10.0.0.0/130',
    ],
    ...['', 5, null, undefined, ['10.0.0.1'], /^10/],
  ])('denies the entry %p, naming its place', (entry) => {
    expect(() => new ClientList(['10.0.0.1', entry], 'deny')).toThrow(
      expect.objectContaining({
        name: 'PolicyError',
        code: 'SLUICE_OPTION_INVALID',
        field: 'deny[1]',
        message: expect.stringMatching(
          /^deny\[1\] must be an address, a CIDR range such as .*, or a key, got /s,
        ) as unknown,
      }),
    );
  });

  it.each(['10.0.0.1', { 0: '10.0.0.1', length: 1 }, new Set(['10.0.0.1']), null, true])(
    'is a list, and not %p',
    (given) => {
      expect(() => new ClientList(given, 'allow')).toThrow(
        expect.objectContaining({
          field: 'allow',
          message: expect.stringContaining('allow must be a list of') as unknown,
        }),
      );
    },
  );

  it.each(['user-42', '42', '/login', 'a b', 'café', '203.0.113.7|/login', '2001:db8::/64|/login', 'team:red:9'])(
    'takes %s for a whole key',
    (entry) => {
      const list = new ClientList([entry], 'allow');

      expect(list.hasKey(entry)).toBe(true);
      expect(list.hasKey(`${entry}0`)).toBe(false);
      expect(list.hasAddress(entry)).toBe(false);
    },
  );
});

/** An address as the model has it, in its family's number of bits. */
interface Model {
  readonly size: 32n | 128n;
  readonly value: bigint;
}

const hex = (value: bigint): string =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(':');
const dotted = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
const NOTATIONS: readonly ((value: bigint) => string)[] = [
  dotted,
  (value) => `::ffff:${dotted(value)}`,
  (value) => hex((0xffffn << 32n) | value),
  (value) => `64:ff9b::${dotted(value)}`,
];
const WITHIN_IPV6 = [0xffffn, 0x64ff9bn << 64n];

const ipv4: fc.Arbitrary<Model> = fc.bigInt(0n, 2n ** 32n - 1n).map((value) => ({ size: 32n, value }));
const ipv6: fc.Arbitrary<Model> = fc
  .oneof(
    fc.bigInt(0n, 2n ** 128n - 1n),
    fc.bigInt(0n, 2n ** 64n).map((low) => (0x64ff9bn << 96n) | low),
    fc.bigInt(0n, 2n ** 52n),
  )
  .filter((value) => !WITHIN_IPV6.includes(value >> 32n) && value >> 96n !== 0x64ff9bn)
  .map((value) => ({ size: 128n, value }));

/** A range and an address that are alike down to some bit, or of different families. */
const pairs = fc
  .tuple(fc.oneof(ipv4, ipv6), fc.oneof(ipv4, ipv6), fc.nat(128), fc.nat(128), fc.nat(3), fc.nat(3))
  .map(([range, other, length, alike, rangeNotation, addressNotation]) => {
    const prefix = BigInt(length) % (range.size + 1n);
    const flipped = range.value ^ (1n << (BigInt(alike) % range.size));
    const address: Model = alike % 3 === 0 ? other : { size: range.size, value: flipped };
    return { range, prefix, address, rangeNotation, addressNotation };
  });

const written = ({ size, value }: Model, notation: number): string =>
  size === 128n ? hex(value) : (NOTATIONS[notation] ?? dotted)(value);

describe('a range', () => {
  it('holds the addresses of its family that begin with its bits, however both are written', () => {
    fc.assert(
      fc.property(pairs, ({ range, prefix, address, rangeNotation, addressNotation }) => {
        const base = written(range, rangeNotation);
        const bits = range.size === 32n && base.includes(':') ? prefix + 96n : prefix;
        const rest = range.size - prefix;
        const isWithin = address.size === range.size && address.value >> rest === range.value >> rest;

        const list = new ClientList([`${base}/${String(bits)}`], 'deny');

        expect(list.hasAddress(written(address, addressNotation))).toBe(isWithin);
      }),
      { numRuns: cases(2_000), seed: testSeed(42) },
    );
  });
});

describe('deny and allow', () => {
  const statusOf = async (options: Partial<TestOptions>, address = '10.1.2.3'): Promise<number | undefined> => {
    const enforce = testEnforcer({ policy, key: [byIp(), byHeader('x-app')], ...options } as TestOptions);
    const headers = { 'x-app': 'shop' };
    await enforce({ address, headers });
    return (await enforce({ address, headers })).denial?.status;
  };

  it('answer 403 with problem details that name no client, and no fields', async () => {
    const enforce = testEnforcer({ policy, deny: ['10.0.0.0/8'] });

    const { denial, fields, info } = await enforce({ address: '10.1.2.3' });

    expect(denial).toMatchObject({ status: 403, contentType: 'application/problem+json' });
    expect(JSON.parse(denial?.body ?? '')).toEqual({ type: 'about:blank', title: 'Forbidden', status: 403 });
    expect(fields).toEqual([]);
    expect(info).toBeUndefined();
  });

  it('let a client that is allowed pass without fields, however often it comes', async () => {
    const enforce = testEnforcer({ policy, allow: ['10.0.0.0/8'] });
    await enforce({ address: '10.1.2.3' });

    const second = await enforce({ address: '10.1.2.3' });

    expect(second).toEqual({ fields: [], info: undefined, denial: undefined });
  });

  it.each<[string, Partial<TestOptions>, number | undefined]>([
    ['by address', { deny: ['10.1.2.3'] }, 403],
    ['by key', { deny: ['10.1.2.3|shop'] }, 403],
    ['by address above an allowed address', { deny: ['10.1.2.3'], allow: ['10.0.0.0/8'] }, 403],
    ['by address above an allowed key', { deny: ['10.1.2.3'], allow: ['10.1.2.3|shop'] }, 403],
    ['by key above an allowed address', { deny: ['10.1.2.3|shop'], allow: ['10.0.0.0/8'] }, 403],
    ['by key above the same allowed key', { deny: ['10.1.2.3|shop'], allow: ['10.1.2.3|shop'] }, 403],
    ['not by the key of another', { deny: ['10.1.2.3|blog'], allow: ['10.0.0.0/8'] }, undefined],
    ['not by a part of the key', { deny: ['shop'] }, 429],
  ])('deny %s', async (_how, options, status) => {
    expect(await statusOf(options)).toBe(status);
  });

  it.each<[string, Partial<TestOptions>, number | undefined]>([
    ['by address', { allow: ['10.1.2.3'] }, undefined],
    ['by range', { allow: ['10.0.0.0/8'] }, undefined],
    ['by key', { allow: ['10.1.2.3|shop'] }, undefined],
    ['no other client', { allow: ['10.1.2.4', '10.1.2.4|shop'] }, 429],
  ])('allow %s', async (_how, options, status) => {
    expect(await statusOf(options)).toBe(status);
  });

  it('read no key of a client that is allowed by its address, unless a key may be denied', async () => {
    const key = (): never => {
      throw new Error('the key is read');
    };
    const passes = testEnforcer({ policy, key, allow: ['10.1.2.3'] });
    const asks = testEnforcer({ policy, key, allow: ['10.1.2.3'], deny: ['blog'] });

    await expect(passes({ address: '10.1.2.3' })).resolves.toMatchObject({ denial: undefined });
    await expect(asks({ address: '10.1.2.3' })).rejects.toThrow('the key is read');
  });

  it('allow a client that has no key, where some key is denied', async () => {
    const enforce = testEnforcer({ policy, key: byHeader('x-app'), allow: ['10.0.0.0/8'], deny: ['blog'] });

    expect((await enforce({ address: '10.1.2.3' })).denial).toBeUndefined();
    expect((await enforce({ address: '11.1.2.3' })).denial?.status).toBe(403);
  });

  it('deny by any key of several limits, and allow in the limit of that key alone: it may be one that anybody can write', async () => {
    const limits = [
      { name: 'per-ip', policy, key: byIp() },
      { name: 'per-app', policy, key: byHeader('x-app') },
    ] as const;
    const enforce = testEnforcer({ limits, deny: ['blog'], allow: ['shop'] });
    const status = async (app: string): Promise<number | undefined> =>
      (await enforce({ headers: { 'x-app': app } })).denial?.status;

    expect(await status('blog')).toBe(403);
    expect([await status('wiki'), await status('shop')]).toEqual([undefined, 429]);
  });

  it('stand above skip by address, and below it by key', async () => {
    const skip = (): boolean => true;

    expect(await statusOf({ skip, deny: ['10.1.2.3'] })).toBe(403);
    expect(await statusOf({ skip, deny: ['10.1.2.3|shop'] })).toBeUndefined();
  });

  it('do not deny a preflight, so that a browser shows the denial of the request', async () => {
    const enforce = testEnforcer({ policy, deny: ['10.1.2.3'], key: byMethod() });
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };

    const answer = await enforce({ address: '10.1.2.3', method: 'OPTIONS', headers });

    expect(answer.denial).toBeUndefined();
  });

  it('deny no client in report mode, and count those they would deny', async () => {
    const counted: string[] = [];
    const enforce = testEnforcer({
      policy,
      mode: 'report',
      deny: ['10.1.2.3'],
      allow: ['10.1.2.4'],
      onDecision: ({ outcome }) => counted.push(outcome),
    });

    const answers = [
      await enforce({ address: '10.1.2.3' }),
      await enforce({ address: '10.1.2.3' }),
      await enforce({ address: '10.1.2.4' }),
    ];

    expect(answers.map(({ denial, fields }) => [denial, fields])).toEqual([
      [undefined, []],
      [undefined, []],
      [undefined, []],
    ]);
    expect(counted).toEqual(['allowed', 'denied']);
  });
});
