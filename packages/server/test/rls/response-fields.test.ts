import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import type { DescriptorFields, ResponseFields } from './protocol.ts';
import { descriptor, runService, type RunningService } from './running-service.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 2 }
  - key: path
    rate_limit: { unit: minute, requests_per_unit: 3 }
  - key: plan
    rate_limit: { name: gold, unit: day, requests_per_unit: 10 }
  - key: odd
    rate_limit: { name: "schlüssel", unit: day, requests_per_unit: 10 }
  - key: watched
    shadow_mode: true
    rate_limit: { unit: second, requests_per_unit: 1 }
  - key: pool
    quota_mode: true
    rate_limit: { unit: hour, requests_per_unit: 1 }
    metadata: { region: { name: eu, zones: [a, b] }, weight: 2 }
  - key: other_pool
    quota_mode: true
    rate_limit: { unit: day, requests_per_unit: 1 }
    metadata: { region: { name: us, tier: 1 }, spare: true }
  - key: closed
    rate_limit: { unit: day, requests_per_unit: 0 }
  - key: free
    rate_limit: { unlimited: true }
  - key: paced
    sluice: { leakyBucket: { limit: 10, window: 10s, maxDelay: 5s } }
`;

describe('the fields that a response adds', () => {
  let running: RunningService;
  const clock = fakeClock(20_779 * 86_400_000); // the first instant of a day
  beforeAll(async () => {
    running = await runService(LIMITS, { store: memoryStore({ clock }) });
  });
  afterAll(async () => {
    await running.close();
  });

  const ask = (...descriptors: readonly DescriptorFields[]): Promise<ResponseFields> =>
    running.ask({ domain: 'shop', descriptors });
  const fieldsOf = ({ responseHeadersToAdd = [] }: ResponseFields): Record<string, string> =>
    Object.fromEntries(responseHeadersToAdd.map(({ key, value }) => [key, value]));

  it('are RateLimit-Policy and RateLimit, and for a denial Retry-After', async () => {
    const user = descriptor('user=fields');

    expect(fieldsOf(await ask(user))).toEqual({
      'RateLimit-Policy': '"minute";q=2;w=60',
      RateLimit: '"minute";r=1;t=60',
    });
    await ask(user);
    expect(fieldsOf(await ask(user))).toEqual({
      'RateLimit-Policy': '"minute";q=2;w=60',
      RateLimit: '"minute";r=0;t=60',
      'Retry-After': '60',
    });
  });

  it('name each policy once: by the rule, or by the unit and a number', async () => {
    const answer = await ask(descriptor('user=names'), descriptor('path=names'), descriptor('plan=names'));

    expect(fieldsOf(answer)).toEqual({
      'RateLimit-Policy': '"minute";q=2;w=60, "minute-2";q=3;w=60, "gold";q=10;w=86400',
      RateLimit: '"minute";r=1;t=60, "minute-2";r=2;t=60, "gold";r=9;t=86400',
    });
  });

  it('leave out rules in shadow mode, and quotas that another one makes up for', async () => {
    const both = [descriptor('watched=x'), descriptor('pool=x'), descriptor('other_pool=x')];

    expect(fieldsOf(await ask(...both))['RateLimit-Policy']).toBe('"hour";q=1;w=3600, "day";q=1;w=86400');
    await ask(descriptor('pool=y'));
    expect(fieldsOf(await ask(descriptor('pool=y'), descriptor('other_pool=y')))).toEqual({
      'RateLimit-Policy': '"day";q=1;w=86400',
      RateLimit: '"day";r=0;t=86400',
    });
  });

  it('state the shortest wait of several quotas that all deny', async () => {
    const denied = await ask(descriptor('pool=x'), descriptor('other_pool=x'));

    expect(denied.overallCode).toBe('OVER_LIMIT');
    expect(fieldsOf(denied)).toMatchObject({ 'Retry-After': '3600' });
  });

  it('have no Retry-After where waiting does not help', async () => {
    expect(fieldsOf(await ask(descriptor('closed=x')))).toEqual({
      'RateLimit-Policy': '"day";q=0;w=86400',
      RateLimit: '"day";r=0',
    });
  });

  it('are none where no limit applies', async () => {
    const answer = await ask(descriptor('free=x'), descriptor('nothing=x'));

    expect(answer.responseHeadersToAdd).toBeUndefined();
    expect(answer.dynamicMetadata).toBeUndefined();
  });

  it('are bounded: sixteen policies at most, those that deny first', async () => {
    const many = Array.from({ length: 100 }, (_, i) => descriptor(`user=${String(i)}`));
    const { RateLimit: state = '' } = fieldsOf(await ask(...many, descriptor('closed=x')));

    expect(state.split(', ')).toHaveLength(16);
    expect(state).toMatch(/^"day";r=0, "minute";/);
  });

  it('are beside metadata: what decided, by which policy, with what outcome', async () => {
    const texts = ({ dynamicMetadata }: ResponseFields): unknown =>
      Object.entries(dynamicMetadata?.fields ?? {}).map(([key, { stringValue }]) => `${key} ${String(stringValue)}`);

    expect(texts(await ask(descriptor('plan=meta')))).toEqual(['source memory', 'policy day', 'outcome allowed']);
    expect(texts(await ask(descriptor('closed=x')))).toEqual(['source memory', 'policy day', 'outcome denied']);
  });

  it('merge the metadata of the rules that allow', async () => {
    const { dynamicMetadata } = await ask(descriptor('pool=meta'), descriptor('other_pool=meta'));
    const metadata = dynamicMetadata?.fields['metadata'];

    expect(metadata).toMatchObject({
      structValue: {
        fields: {
          region: {
            structValue: {
              fields: {
                name: { stringValue: 'eu' },
                zones: { listValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
                tier: { numberValue: 1 },
              },
            },
          },
          weight: { numberValue: 2 },
          spare: { boolValue: true },
        },
      },
    });
  });

  it('say how long a policy that paces asks to wait', async () => {
    await ask(descriptor('paced=x'));
    const { dynamicMetadata } = await ask(descriptor('paced=x'));

    expect(dynamicMetadata?.fields['delay_ms']).toEqual({ numberValue: 1000 });
  });
});
