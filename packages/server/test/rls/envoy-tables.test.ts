import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import type { DescriptorFields } from './protocol.ts';
import { descriptor, runService, type RunningService } from './running-service.ts';

/**
 * What the integration tests of envoyproxy/ratelimit expect of `replaces` in its example configuration, in the same
 * order of requests. Where its counts differ (it charges what it denies), the expectation is ours.
 */
const EXAMPLE = `
domain: rl
descriptors:
  - key: category
    value: account
    rate_limit:
      replaces: [{ name: bkthomps }, { name: fake_name }]
      unit: minute
      requests_per_unit: 4
  - key: source_cluster
    value: proxy
    descriptors:
      - key: destination_cluster
        value: bkthomps
        rate_limit: { replaces: [{ name: bkthomps }], unit: minute, requests_per_unit: 2 }
      - key: destination_cluster
        value: mock
        rate_limit: { unit: minute, requests_per_unit: 1 }
      - key: destination_cluster
        value: override
        rate_limit: { replaces: [{ name: banned_limit }], unit: minute, requests_per_unit: 2 }
      - key: destination_cluster
        value: fake
        rate_limit: { name: fake_name, unit: minute, requests_per_unit: 2 }
  - key: foo
    rate_limit: { unit: minute, requests_per_unit: 2 }
    descriptors:
      - key: bar
        rate_limit: { unit: minute, requests_per_unit: 3 }
      - key: bar
        value: bkthomps
        rate_limit: { name: bkthomps, unit: minute, requests_per_unit: 1 }
      - key: bar
        value: banned
        rate_limit: { name: banned_limit, unit: minute, requests_per_unit: 0 }
`;

describe("envoyproxy/ratelimit's integration tables", () => {
  let running: RunningService | undefined;
  beforeEach(async () => {
    running = await runService(EXAMPLE, { store: memoryStore({ clock: fakeClock() }) });
  });
  afterEach(async () => {
    await running?.close();
  });

  const codesOf = async (domain: string, ...requests: readonly (readonly DescriptorFields[])[]): Promise<string[]> => {
    const codes: string[] = [];
    for (const descriptors of requests) codes.push((await running?.ask({ domain, descriptors }))?.overallCode ?? '');
    return codes;
  };
  const twoHeaders = (foo: string, bar: string): DescriptorFields[] => [descriptor(`foo=${foo} bar=${bar}`)];
  const fourHeaders = (foo: string, bar: string, destination: string): DescriptorFields[] => [
    ...twoHeaders(foo, bar),
    descriptor(`source_cluster=proxy destination_cluster=${destination}`),
  ];
  const fiveHeaders = (foo: string, bar: string, destination: string): DescriptorFields[] => [
    ...fourHeaders(foo, bar, destination),
    descriptor('category=account'),
  ];

  it('replaces.sh: a limit that is replaced by a larger one', async () => {
    const replaced = fourHeaders('bkthomps', 'banned', 'override');

    expect(await codesOf('rl', twoHeaders('bkthomps', 'banned'))).toEqual(['OVER_LIMIT']);
    expect(await codesOf('rl', fourHeaders('bkthomps', 'banned', 'mock'))).toEqual(['OVER_LIMIT']);
    expect(await codesOf('rl', replaced, replaced, replaced)).toEqual(['OK', 'OK', 'OVER_LIMIT']);
  });

  it('replaces.sh: a limit is as it was where nothing replaces it', async () => {
    const replaced = fourHeaders('my_foo', 'bkthomps', 'bkthomps');
    const other = fourHeaders('my_foo', 'bkthomps', 'not_bkthomps');

    expect(await codesOf('rl', replaced, replaced, replaced)).toEqual(['OK', 'OK', 'OVER_LIMIT']);
    expect(await codesOf('rl', other, other, replaced)).toEqual(['OK', 'OVER_LIMIT', 'OVER_LIMIT']);
  });

  it('replaces.sh: one limit replaces several', async () => {
    const all = fiveHeaders('my_foo', 'bkthomps', 'fake');
    const four = fourHeaders('foo_3', 'bar_3', 'fake');

    expect(await codesOf('rl', all, all, all, all, all)).toEqual(['OK', 'OK', 'OK', 'OK', 'OVER_LIMIT']);
    expect(await codesOf('rl', twoHeaders('foo_2', 'bkthomps'), twoHeaders('foo_2', 'bkthomps'))).toEqual([
      'OK',
      'OVER_LIMIT',
    ]);
    expect(await codesOf('rl', four, four, four)).toEqual(['OK', 'OK', 'OVER_LIMIT']);
    expect(await codesOf('rl', all)).toEqual(['OVER_LIMIT']);
  });
});
