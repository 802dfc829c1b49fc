import { describe, expect, it } from '@jest/globals';
import { match, rateOf, read } from './reading.ts';

const limit = (requests: number, unit = 'minute') =>
  `rate_limit: { unit: ${unit}, requests_per_unit: ${String(requests)} }`;

describe('a descriptor', () => {
  const configuration = read(`
domain: shop
descriptors:
  - key: tenant
    value: acme
    descriptors:
      - key: user
        ${limit(5, 'second')}
      - key: user
        value: root
        ${limit(10, 'second')}
  - key: plan
    ${limit(20)}
  - key: plan
    value: gold
    ${limit(30)}
  - key: plan
    value: staff
  - key: report
    ${limit(1, 'hour')}
  - key: export
    rate_limit: { name: exports, unit: day, requests_per_unit: 1 }
  - key: region
    value: eu
    ${limit(15, 'day')}
    descriptors:
      - key: city
        value: bonn
        ${limit(25, 'day')}
  - key: probe
    rate_limit: { unlimited: true }
`);

  it.each([
    ['the key alone', ['plan=silver'], '20/minute'],
    ['key and value before the key alone', ['plan=gold'], '30/minute'],
    ['a value without a limit, so that it has none', ['plan=staff'], 'no rule'],
    ['a key without any value', ['report='], '1/hour'],
    ['an inner key', ['tenant=acme', 'user=ann'], '5/second'],
    ['an inner key and value', ['tenant=acme', 'user=root'], '10/second'],
    ['a descriptor that has both a limit and others below', ['region=eu'], '15/day'],
    ['one below it', ['region=eu', 'city=bonn'], '25/day'],
    ['unlimited', ['probe=1'], 'unlimited'],
  ])('matches %s', (_what, entries, expected) => {
    expect(rateOf(configuration, 'shop', ...entries)).toBe(expected);
  });

  it.each([
    ['another domain', 'other', ['plan=gold']],
    ['no entries', 'shop', []],
    ['an unknown key', 'shop', ['colour=red']],
    ['a value that only deeper descriptors name', 'shop', ['tenant=other']],
    ['fewer entries than the rule has', 'shop', ['tenant=acme']],
    ['more entries than the rule has', 'shop', ['plan=gold', 'user=ann']],
    ['more entries than the deepest rule has', 'shop', ['region=eu', 'city=bonn', 'street=1']],
    ['an inner value that no rule has', 'shop', ['region=eu', 'city=rome']],
    ['the entries in another order', 'shop', ['user=ann', 'tenant=acme']],
    ['a key and value that only join to the same text', 'shop', ['tenant_acme=', 'user=ann']],
  ])('matches nothing for %s', (_what, domain, entries) => {
    expect(rateOf(configuration, domain, ...entries)).toBe('no rule');
  });

  it('does not go back to the key alone where the value has rules, but none that match', () => {
    const nested = read(`
domain: shop
descriptors:
  - key: plan
    descriptors: [{ key: user, ${limit(1)} }]
  - key: plan
    value: gold
    descriptors: [{ key: device, ${limit(2)} }]
`);

    expect(rateOf(nested, 'shop', 'plan=silver', 'user=ann')).toBe('1/minute');
    expect(rateOf(nested, 'shop', 'plan=gold', 'user=ann')).toBe('no rule');
  });

  it('has the name of its rule', () => {
    expect(match(configuration, 'shop', 'export=1')?.rule.name).toBe('exports');
    expect(match(configuration, 'shop', 'plan=gold')?.rule.name).toBeUndefined();
  });

  it.each([
    [['plan=silver'], 'shop.plan'],
    [['plan=gold'], 'shop.plan_gold'],
    [['tenant=acme', 'user=ann'], 'shop.tenant_acme.user'],
    [['tenant=acme', 'user=root'], 'shop.tenant_acme.user_root'],
    [['probe=1'], 'shop.probe'],
  ])('%j is %s in metrics', (entries, expected) => {
    expect(match(configuration, 'shop', ...entries)?.metric).toBe(expected);
  });
});

describe('the units of rate_limit', () => {
  const day = 86_400_000;

  it.each([
    ['second', 1_000],
    ['minute', 60_000],
    ['hour', 3_600_000],
    ['day', day],
    ['week', 7 * day],
    ['month', 30 * day],
    ['year', 365 * day],
    ['MINUTE', 60_000],
    ['Day', day],
  ])('%s is a window of %d ms, aligned to the clock', (unit, windowMs) => {
    const found = match(read(`domain: d\ndescriptors: [{ key: k, ${limit(7, unit)} }]`), 'd', 'k=1');

    expect(found?.rule.limit).toMatchObject({
      fixed: [{ name: unit.toLowerCase(), policy: { algorithm: 'fixedWindow', limit: 7, windowMs, align: 'clock' } }],
    });
    expect(found?.rule.rateLimit).toEqual({ requestsPerUnit: 7, unit: unit.toLowerCase() });
  });

  it('are the only part of the key that a rule adds, so that another number of requests keeps the state', () => {
    const suffix = (requests: number, unit: string) =>
      match(read(`domain: d\ndescriptors: [{ key: k, ${limit(requests, unit)} }]`), 'd', 'k=1')?.rule.limit?.fixed?.[0]
        ?.suffix;

    expect(suffix(7, 'minute')).toBe(suffix(9, 'minute'));
    expect(suffix(7, 'minute')).not.toBe(suffix(7, 'hour'));
  });

  it('allow no request where requests_per_unit is 0', () => {
    expect(match(read(`domain: d\ndescriptors: [{ key: k, ${limit(0)} }]`), 'd', 'k=1')?.rule.limit).toMatchObject({
      fixed: [{ policy: { limit: 0 } }],
    });
  });
});

describe('a value with *', () => {
  const configuration = read(`
domain: d
descriptors:
  - { key: trailing, value: foo*, ${limit(1)} }
  - { key: none, value: foo, ${limit(2)} }
  - { key: middle, value: bar*b, ${limit(3)} }
  - { key: several, value: foo*bar*baz, ${limit(4)} }
  - { key: leading, value: '*.png', ${limit(5)} }
  - { key: every, value: '*', ${limit(6)} }
  - { key: overlap, value: 'aba*aba', ${limit(7)} }
  - { key: repeated, value: 'a**b*b*c', ${limit(8)} }
  - key: outer
    value: val1
    descriptors: [{ key: trailing, value: goo*, ${limit(9)} }]
`);

  it.each([
    ['trailing=foo', '1/minute'],
    ['trailing=foo1', '1/minute'],
    ['trailing=bar', 'no rule'],
    ['trailing=xfoo', 'no rule'],
    ['none=foo1', 'no rule'],
    ['middle=barab', '3/minute'],
    ['middle=barb', '3/minute'],
    ['middle=bar123b', '3/minute'],
    ['middle=bara', 'no rule'],
    ['middle=xbarb', 'no rule'],
    ['several=foo123bar456baz', '4/minute'],
    ['several=foobarbaz', '4/minute'],
    ['several=foo123baz', 'no rule'],
    ['several=bar456baz', 'no rule'],
    ['several=foobazbar', 'no rule'],
    ['leading=.png', '5/minute'],
    ['leading=a.png', '5/minute'],
    ['leading=a.png.exe', 'no rule'],
    ['every=', '6/minute'],
    ['every=anything', '6/minute'],
    ['overlap=aba', 'no rule'],
    ['overlap=ababa', 'no rule'],
    ['overlap=abaaba', '7/minute'],
    ['repeated=abbc', '8/minute'],
    ['repeated=abc', 'no rule'],
    ['repeated=abxbc', '8/minute'],
  ])('%s matches: %s', (entry, expected) => {
    expect(rateOf(configuration, 'd', entry)).toBe(expected);
  });

  it('matches below other descriptors', () => {
    expect(match(configuration, 'd', 'outer=val1', 'trailing=goo2')?.metric).toBe('d.outer_val1.trailing_goo*');
    expect(match(configuration, 'd', 'outer=val1', 'trailing=foo2')).toBeUndefined();
  });

  it('comes after exact values, before the key alone, and before patterns after it', () => {
    const ordered = read(`
domain: d
descriptors:
  - { key: k, ${limit(1)} }
  - { key: k, value: ab*, ${limit(2)} }
  - { key: k, value: a*, ${limit(3)} }
  - { key: k, value: abc*, ${limit(4)} }
  - { key: k, value: abc, ${limit(5)} }
`);

    expect(['k=abc', 'k=abcd', 'k=ax', 'k=x'].map((entry) => rateOf(ordered, 'd', entry))).toEqual([
      '5/minute',
      '2/minute',
      '3/minute',
      '1/minute',
    ]);
  });

  it('that a request sends itself is the pattern, also where another comes before it', () => {
    const ordered = read(`
domain: d
descriptors:
  - { key: k, value: a*, ${limit(1)} }
  - { key: k, value: ab*, share_threshold: true, ${limit(2)} }
`);

    expect(rateOf(ordered, 'd', 'k=ab*')).toBe('2/minute');
    expect(rateOf(ordered, 'd', 'k=ab')).toBe('1/minute');
  });

  it('counts each value by itself', () => {
    const subjects = ['trailing=foo1', 'trailing=foo2', 'trailing=foo'].map(
      (entry) => match(configuration, 'd', entry)?.key,
    );

    expect(new Set(subjects).size).toBe(3);
  });

  it('is the pattern in metrics', () => {
    expect(match(configuration, 'd', 'several=foobarbaz')?.metric).toBe('d.several_foo*bar*baz');
  });
});

describe('share_threshold', () => {
  const configuration = read(`
domain: d
descriptors:
  - { key: files, value: files/*, share_threshold: true, ${limit(100)} }
  - { key: apart, value: files/*, share_threshold: false, ${limit(100)} }
  - key: nested
    value: parent
    descriptors: [{ key: files, value: nested/*, share_threshold: true, ${limit(200)} }]
  - key: path
    value: path/*
    share_threshold: true
    descriptors:
      - key: file
        value: file/*
        descriptors: [{ key: type, ${limit(120)} }]
  - key: user
    value: user/*
    share_threshold: true
    descriptors:
      - key: resource
        value: res*v2
        share_threshold: true
        descriptors: [{ key: action, ${limit(150)} }]
  - { key: file, value: test1, ${limit(50)} }
  - { key: file, value: test*, share_threshold: true, ${limit(60)} }
  - { key: several, value: svc*ep*rpc, share_threshold: true, ${limit(70)} }
`);
  const subject = (...entries: readonly string[]) => match(configuration, 'd', ...entries)?.key;

  it('counts all values of a pattern together', () => {
    expect(subject('files=files/a.pdf')).toBe(subject('files=files/b.csv'));
    expect(subject('several=svcAepBrpc')).toBe(subject('several=svceprpc'));
  });

  it('also for a value that is written like the pattern', () => {
    expect(subject('files=files/*')).toBe(subject('files=files/b.csv'));
  });

  it('counts each value by itself where it is off', () => {
    expect(subject('apart=files/a.pdf')).not.toBe(subject('apart=files/b.csv'));
  });

  it('holds below other descriptors', () => {
    expect(subject('nested=parent', 'files=nested/a')).toBe(subject('nested=parent', 'files=nested/b'));
  });

  it('of an outer descriptor leaves the inner values apart', () => {
    expect(subject('path=path/a', 'file=file/1', 'type=pdf')).toBe(subject('path=path/b', 'file=file/1', 'type=pdf'));
    expect(subject('path=path/a', 'file=file/1', 'type=pdf')).not.toBe(
      subject('path=path/a', 'file=file/2', 'type=pdf'),
    );
    expect(subject('path=path/a', 'file=file/1', 'type=pdf')).not.toBe(
      subject('path=path/a', 'file=file/1', 'type=csv'),
    );
  });

  it('holds on two levels', () => {
    expect(subject('user=user/a', 'resource=res1v2', 'action=read')).toBe(
      subject('user=user/b', 'resource=res2v2', 'action=read'),
    );
    expect(subject('user=user/a', 'resource=res1v2', 'action=read')).not.toBe(
      subject('user=user/a', 'resource=res1v2', 'action=write'),
    );
  });

  it('leaves a value out that has a rule of its own', () => {
    expect(rateOf(configuration, 'd', 'file=test1')).toBe('50/minute');
    expect(rateOf(configuration, 'd', 'file=test12')).toBe('60/minute');
    expect(subject('file=test1')).not.toBe(subject('file=test12'));
  });

  it.each([
    [['files=files/a.pdf'], 'd.files_files/*'],
    [['nested=parent', 'files=nested/a'], 'd.nested_parent.files_nested/*'],
    [['path=path/foo', 'file=file/doc1', 'type=pdf'], 'd.path_path/*.file_file/*.type'],
    [['user=user/a', 'resource=res1v2', 'action=read'], 'd.user_user/*.resource_res*v2.action'],
    [['file=test1'], 'd.file_test1'],
  ])('shows the pattern in metrics: %j is %s', (entries, expected) => {
    expect(match(configuration, 'd', ...entries)?.metric).toBe(expected);
  });
});

describe('modes of a rule', () => {
  const configuration = read(`
domain: d
descriptors:
  - { key: enforced, ${limit(1)} }
  - { key: shadow, shadow_mode: true, ${limit(1)} }
  - { key: shadow, value: off, shadow_mode: off, ${limit(1)} }
  - { key: quota, quota_mode: yes, ${limit(1)} }
`);
  const modes = (entry: string) => {
    const rule = match(configuration, 'd', entry)?.rule;
    return [rule?.shadowMode, rule?.quotaMode];
  };

  it('are off unless they are written', () => {
    expect(modes('enforced=1')).toEqual([false, false]);
  });

  it('are those of the descriptor itself', () => {
    expect(modes('shadow=1')).toEqual([true, false]);
    expect(modes('shadow=off')).toEqual([false, false]);
    expect(modes('quota=1')).toEqual([false, true]);
  });
});

describe('what else a rule says', () => {
  const configuration = read(`
domain: d
descriptors:
  - key: specific
    rate_limit:
      name: specific
      replaces: [{ name: general }, { name: other }]
      unit: second
      requests_per_unit: 5
  - key: free
    rate_limit: { unlimited: true, name: free, replaces: [{ name: general }], requests_per_unit: 25 }
  - key: described
    ${limit(1)}
    metadata: { service: { name: orders, weight: 2 }, tags: [a, 1, true, null] }
`);

  it('is which rules it replaces', () => {
    expect(match(configuration, 'd', 'specific=1')?.rule).toMatchObject({
      name: 'specific',
      replaces: ['general', 'other'],
    });
    expect(match(configuration, 'd', 'free=1')?.rule).toMatchObject({
      name: 'free',
      replaces: ['general'],
      limit: undefined,
    });
    expect(match(configuration, 'd', 'described=1')?.rule).toMatchObject({ name: undefined, replaces: [] });
  });

  it('is its metadata, with any fields', () => {
    expect(match(configuration, 'd', 'described=1')?.rule.metadata).toEqual({
      service: { name: 'orders', weight: 2 },
      tags: ['a', 1, true, null],
    });
    expect(match(configuration, 'd', 'specific=1')?.rule.metadata).toBeUndefined();
  });
});
