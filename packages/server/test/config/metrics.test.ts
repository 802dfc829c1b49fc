import { describe, expect, it } from '@jest/globals';
import { match, read } from './reading.ts';

const RATE = 'rate_limit: { unit: minute, requests_per_unit: 1 }';

function metric(descriptors: string, ...entries: readonly string[]): string | undefined {
  return match(read(`domain: d\ndescriptors:\n${descriptors}`), 'd', ...entries)?.metric;
}

describe('value_to_metric', () => {
  const three = `
  - key: route
    value_to_metric: true
    descriptors:
      - key: method
        value_to_metric: true
        descriptors: [{ key: user, ${RATE} }]
      - key: method
        value: POST
        descriptors: [{ key: user, ${RATE} }]
`;

  it.each([
    ['the values of its descriptors', ['route=draw', 'method=GET', 'user=1'], 'd.route_draw.method_GET.user'],
    ['a value of the file as it is', ['route=draw', 'method=POST', 'user=1'], 'd.route_draw.method_POST.user'],
    ['no value where it is empty', ['route=', 'method=GET', 'user=1'], 'd.route.method_GET.user'],
    ['none in two places', ['route=', 'method=', 'user=1'], 'd.route.method.user'],
  ])('shows %s', (_what, entries, expected) => {
    expect(metric(three, ...entries)).toBe(expected);
  });

  it('shows the values of its own descriptor alone', () => {
    const middle = `  - { key: a, descriptors: [{ key: b, value_to_metric: true, descriptors: [{ key: c, ${RATE} }] }] }`;

    expect(metric(middle, 'a=X', 'b=Y', 'c=Z')).toBe('d.a.b_Y.c');
  });

  it('shows the whole value that matched a pattern', () => {
    const pattern = `  - { key: action, value: read*, value_to_metric: true, descriptors: [{ key: file, ${RATE} }] }`;

    expect(metric(pattern, 'action=readfile', 'file=1')).toBe('d.action_readfile.file');
  });

  it('leaves patterns of other descriptors', () => {
    const other = `  - { key: wild, value: foo*, descriptors: [{ key: other, value_to_metric: true, descriptors: [{ key: last, ${RATE} }] }] }`;

    expect(metric(other, 'wild=foo1', 'other=bar', 'last=X')).toBe('d.wild_foo*.other_bar.last');
  });

  it('leaves a pattern whose values are counted together', () => {
    const shared = `  - { key: wild, value: foo*bar*, value_to_metric: true, share_threshold: true, ${RATE} }`;

    expect(metric(shared, 'wild=foo1bar2')).toBe('d.wild_foo*bar*');
  });
});

describe('detailed_metric', () => {
  const nested = `
  - key: a
    detailed_metric: true
    ${RATE}
    descriptors:
      - { key: b, detailed_metric: true, ${RATE} }
      - { key: c, ${RATE} }
  - { key: a, value: known, ${RATE} }
`;

  it.each([
    ['every value on the way', ['a=1', 'b=2'], 'd.a_1.b_2'],
    ['that of a single entry', ['a=1'], 'd.a_1'],
    ['none, below, for a descriptor without it', ['a=1', 'c=2'], 'd.a.c'],
    ['that of the file', ['a=known'], 'd.a_known'],
    ['no value where it is empty', ['a='], 'd.a'],
  ])('shows %s', (_what, entries, expected) => {
    expect(metric(nested, ...entries)).toBe(expected);
  });

  it('also shows the values above it that value_to_metric shows', () => {
    const both = `  - { key: a, value_to_metric: true, descriptors: [{ key: b, descriptors: [{ key: c, detailed_metric: true, ${RATE} }] }] }`;

    expect(metric(both, 'a=1', 'b=2', 'c=3')).toBe('d.a_1.b_2.c_3');
  });

  it('shows patterns whose values are counted together', () => {
    const shared = `  - { key: svc, value: svc/*, share_threshold: true, descriptors: [{ key: end, detailed_metric: true, ${RATE} }] }`;

    expect(metric(shared, 'svc=svc/user', 'end=get')).toBe('d.svc_svc/*.end_get');
  });
});

describe('names in metrics', () => {
  it('are a thousand for one rule at most, and the same for the same values', () => {
    const configuration = read(`domain: d\ndescriptors: [{ key: user, detailed_metric: true, ${RATE} }]`);
    const names = new Set<string | undefined>();
    for (let i = 0; i < 5_000; i++) names.add(match(configuration, 'd', `user=${String(i)}`)?.metric);

    expect(names.size).toBe(1_001);
    expect(names).toContain('d.user_other');
    expect(match(configuration, 'd', 'user=7')?.metric).toBe('d.user_7');
    expect(match(configuration, 'd', 'user=4999')?.metric).toBe('d.user_other');
  });

  it('are not longer than 256 characters where they hold values of requests', () => {
    const configuration = read(`domain: d\ndescriptors: [{ key: user, detailed_metric: true, ${RATE} }]`);

    expect(match(configuration, 'd', `user=${'x'.repeat(1_000)}`)?.metric).toBe('d.user_other');
  });
});
