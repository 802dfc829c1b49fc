import { afterEach, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { fakeClock, type FakeClock } from '@sluice/core/testing';
import type { DescriptorFields } from './protocol.ts';
import { descriptor, runService, type RunningService } from './running-service.ts';

/**
 * What the integration tests of envoyproxy/ratelimit expect of its example configuration, in the same order of
 * requests. Where its counts differ (it charges what it denies), the expectation is ours, and says so.
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
      - key: baz
        rate_limit: { unit: second, requests_per_unit: 1 }
      - key: baz
        value: shady
        rate_limit: { unit: minute, requests_per_unit: 3 }
        shadow_mode: true
      - key: bay
        rate_limit: { unlimited: true }
  - key: service
    value: service_1
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 1 }
    metadata: { service_with_quota: { name: service_1 } }
  - key: service
    value: service_2
    quota_mode: true
    rate_limit: { unit: minute, requests_per_unit: 2 }
    metadata: { service_with_quota: { name: service_2 } }
`;

const MINUTE = 60_000;

describe("envoyproxy/ratelimit's integration tables", () => {
  let running: RunningService | undefined;
  let clock: FakeClock;
  const run = async (): Promise<RunningService> => {
    clock = fakeClock();
    running = await runService(EXAMPLE, { store: memoryStore({ clock }) });
    return running;
  };
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
    await run();
    const replaced = fourHeaders('bkthomps', 'banned', 'override');

    expect(await codesOf('rl', twoHeaders('bkthomps', 'banned'))).toEqual(['OVER_LIMIT']);
    expect(await codesOf('rl', fourHeaders('bkthomps', 'banned', 'mock'))).toEqual(['OVER_LIMIT']);
    expect(await codesOf('rl', replaced, replaced, replaced)).toEqual(['OK', 'OK', 'OVER_LIMIT']);
  });

  it('replaces.sh: a limit is as it was where nothing replaces it', async () => {
    await run();
    const replaced = fourHeaders('my_foo', 'bkthomps', 'bkthomps');
    const other = fourHeaders('my_foo', 'bkthomps', 'not_bkthomps');

    expect(await codesOf('rl', replaced, replaced, replaced)).toEqual(['OK', 'OK', 'OVER_LIMIT']);
    expect(await codesOf('rl', other, other, replaced)).toEqual(['OK', 'OVER_LIMIT', 'OVER_LIMIT']);
  });

  it('replaces.sh: one limit replaces several', async () => {
    await run();
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

  it('trigger-ratelimit.sh: a limit of a second', async () => {
    await run();
    const baz = [descriptor('foo=pelle baz=not-so')];

    expect(await codesOf('rl', baz, baz)).toEqual(['OK', 'OVER_LIMIT']);
    clock.advance(1000);
    expect(await codesOf('rl', baz)).toEqual(['OK']);
  });

  it('quota.sh: debited from every bucket that has some, until none has', async () => {
    const { ask } = await run();
    const services = [descriptor('service=service_1'), descriptor('service=service_2')];
    const passed = async (): Promise<unknown> => {
      const { overallCode, dynamicMetadata } = await ask({ domain: 'rl', descriptors: services });
      const struct = dynamicMetadata?.fields['metadata']?.['structValue'] as Record<string, unknown> | undefined;
      return [overallCode, /service_\d/.exec(JSON.stringify(struct ?? null))?.[0]];
    };

    expect(await passed()).toEqual(['OK', 'service_1']);
    expect(await passed()).toEqual(['OK', 'service_2']);
    expect(await passed()).toEqual(['OVER_LIMIT', undefined]);
    clock.advance(MINUTE);
    expect(await passed()).toEqual(['OK', 'service_1']);
  });

  it('token-quota.sh: looked at before, debited afterwards; a check asks for one unit, so the third is denied here', async () => {
    await run();
    const look = { hitsAddend: { value: 0 } };
    const before = [descriptor('service=service_1', look), descriptor('service=service_2', look)];
    const afterwards = [descriptor('service=service_1', { hitsAddend: { value: 1 } })];
    const afterwards2 = [descriptor('service=service_2', { hitsAddend: { value: 1 } })];

    expect(await codesOf('rl', before, afterwards)).toEqual(['OK', 'OK']);
    expect(await codesOf('rl', before, afterwards2, before, afterwards2)).toEqual(['OK', 'OK', 'OK', 'OK']);
    expect(await codesOf('rl', before)).toEqual(['OVER_LIMIT']);
    clock.advance(MINUTE);
    expect(await codesOf('rl', before)).toEqual(['OK']);
  });
});
