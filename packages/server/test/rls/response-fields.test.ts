import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import type { ResponseFields } from './protocol.ts';
import { readRequest, runService, type RunningService } from './running-service.ts';

const LIMITS = `
domain: shop
descriptors:
  - { key: user, rate_limit: { unit: minute, requests_per_unit: 2 } }
  - { key: path, rate_limit: { unit: minute, requests_per_unit: 3 } }
  - { key: plan, rate_limit: { name: gold, unit: day, requests_per_unit: 10 } }
  - { key: odd, rate_limit: { name: "schlüssel", unit: day, requests_per_unit: 10 } }
  - { key: watched, shadow_mode: true, rate_limit: { unit: second, requests_per_unit: 1 } }
  - key: pool
    quota_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
    metadata: { region: { name: eu, zones: [a, b] }, weight: 2 }
  - key: other_pool
    quota_mode: true
    rate_limit: { unit: day, requests_per_unit: 1 }
    metadata: { region: { name: us, tier: 1 }, spare: true }
  - { key: closed, rate_limit: { unit: day, requests_per_unit: 0 } }
  - { key: free, rate_limit: { unlimited: true } }
  - { key: paced, sluice: { leakyBucket: { limit: 10, window: 10s, maxDelay: 5s } } }
`;

describe('the fields that a response adds', () => {
  let running: RunningService;
  const clock = fakeClock(20_779 * 86_400_000); // the first instant of a day
  beforeAll(async () => {
    running = await runService(LIMITS, { store: memoryStore({ clock }) });
  });
  afterAll(() => running.close());

  const ask = (written: string, subject = ''): Promise<ResponseFields> => running.ask(readRequest(written, subject));
  /** `RateLimit-Policy`, `RateLimit` and `Retry-After`, of which the last is missing if waiting does not help. */
  const fieldsOf = ({ responseHeadersToAdd = [] }: ResponseFields): readonly string[] =>
    responseHeadersToAdd.map(({ value }) => value);

  it.each<[string, readonly string[], readonly string[]]>([
    ['for what is allowed', ['user=$'], ['"minute";q=2;w=60', '"minute";r=1;t=60']],
    ['for a denial', ['user=$', 'user=$', 'user=$'], ['"minute";q=2;w=60', '"minute";r=0;t=60', '60']],
    [
      'each policy once: by the rule, or by the unit and a number',
      ['user=$ & path=$ & plan=$ & odd=$'],
      [
        '"minute";q=2;w=60, "minute-2";q=3;w=60, "gold";q=10;w=86400, "day";q=10;w=86400',
        '"minute";r=1;t=60, "minute-2";r=2;t=60, "gold";r=9;t=86400, "day";r=9;t=86400',
      ],
    ],
    [
      'without rules in shadow mode',
      ['watched=$ & pool=$ & other_pool=$'],
      ['"hour";q=1;w=3600, "day";q=1;w=86400', '"hour";r=0;t=3600, "day";r=0;t=86400'],
    ],
    [
      'without a quota that another one makes up for',
      ['pool=$', 'pool=$ & other_pool=$'],
      ['"day";q=1;w=86400', '"day";r=0;t=86400'],
    ],
    [
      'with the shortest wait of several quotas that all deny',
      ['pool=$ & other_pool=$', 'pool=$ & other_pool=$'],
      ['"hour";q=1;w=3600, "day";q=1;w=86400', '"hour";r=0;t=3600, "day";r=0;t=86400', '3600'],
    ],
    ['without a wait that does not help', ['closed=$'], ['"day";q=0;w=86400', '"day";r=0']],
    ['none where no limit applies', ['free=$ & nothing=$'], []],
  ])('are those of the draft: %s', async (title, requests, fields) => {
    const answers: ResponseFields[] = [];
    for (const request of requests) answers.push(await ask(request, title.replaceAll(/\W/g, '-')));

    expect(fieldsOf(answers.at(-1) as ResponseFields)).toEqual(fields);
  });

  it('are bounded: sixteen policies at most, those that deny first', async () => {
    const many = Array.from({ length: 100 }, (_, i) => `user=${String(i)}`).join(' & ');
    const [, state = ''] = fieldsOf(await ask(`${many} & closed=x`));

    expect(state.split(', ')).toHaveLength(16);
    expect(state).toMatch(/^"day";r=0, "minute";/);
  });

  it('are beside metadata: what decided, by which policy, with what outcome', async () => {
    const texts = ({ dynamicMetadata }: ResponseFields): unknown =>
      dynamicMetadata && Object.values(dynamicMetadata.fields).map(({ stringValue }) => stringValue);

    expect(texts(await ask('plan=meta'))).toEqual(['memory', 'day', 'allowed']);
    expect(texts(await ask('closed=x'))).toEqual(['memory', 'day', 'denied']);
    expect(texts(await ask('free=x'))).toBeUndefined();
  });

  it('merge the metadata of the rules that allow', async () => {
    const { dynamicMetadata } = await ask('pool=meta & other_pool=meta');
    const zones = { listValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } };
    const region = { structValue: { fields: { name: { stringValue: 'eu' }, zones, tier: { numberValue: 1 } } } };

    expect(dynamicMetadata?.fields['metadata']).toEqual({
      structValue: { fields: { region, weight: { numberValue: 2 }, spare: { boolValue: true } } },
    });
  });

  it('say how long a policy that paces asks to wait', async () => {
    await ask('paced=x');
    const { dynamicMetadata } = await ask('paced=x');

    expect(dynamicMetadata?.fields['delay_ms']).toEqual({ numberValue: 1000 });
  });
});
