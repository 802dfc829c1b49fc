import { describe, expect, it } from '@jest/globals';
import { byHeader, byUser } from '@sluice/old-http';
import { fixedWindow, type Policy } from '@sluice/old-core';
import { createEnforcer } from '@sluice/old-http/spi';
import { lines, testEnforcer, testFramework, type TestRequest } from '@sluice/testkit';

const plans = {
  free: fixedWindow({ name: 'free', limit: 1, window: '1m' }),
  paid: fixedWindow({ name: 'paid', limit: 3, window: '1m' }),
};
const byPlan = ({ headers }: TestRequest): Policy => plans[headers?.['x-plan'] === 'paid' ? 'paid' : 'free'];
const perKey = fixedWindow({ limit: 2, window: '1m' });

describe('a policy function in an entry of limits', () => {
  const limits = [
    { name: 'per-key', policy: perKey, key: byHeader<TestRequest>('x-key') },
    { name: 'by-plan', policy: byPlan, key: byUser<TestRequest>() },
  ];
  const paid = { user: 'a', headers: { 'x-plan': 'paid', 'x-key': '1' } };

  it('is one decision with the other entries', async () => {
    const enforce = testEnforcer({ limits });

    const first = await enforce(paid);
    await enforce(paid);
    const denied = await enforce(paid);
    const elsewhere = await enforce({ ...paid, headers: { ...paid.headers, 'x-key': '2' } });

    expect(lines(first)).toEqual([
      'RateLimit-Policy: "per-key";q=2;w=60, "paid";q=3;w=60',
      'RateLimit: "per-key";r=1;t=60, "paid";r=2;t=60',
    ]);
    expect(denied.denial?.status).toBe(429);
    expect(elsewhere.info?.decision.policies.map(({ remaining }) => remaining)).toEqual([1, 0]);
    expect(elsewhere.info?.key).toEqual({ 'per-key': '2', 'by-plan': 'a' });
  });

  it('gives each plan a budget of its own', async () => {
    const enforce = testEnforcer({ limits });

    const answers = [await enforce({ user: 'a' }), await enforce({ user: 'a' }), await enforce(paid)];

    expect(answers.map(({ denial }) => denial?.status)).toEqual([undefined, 429, undefined]);
  });

  it('must answer a policy with a name', async () => {
    const enforce = testEnforcer({ limits: [{ name: 'by-plan', policy: () => perKey }] });

    await expect(enforce()).rejects.toMatchObject({
      name: 'PolicyError',
      field: 'policy.name',
      message: expect.stringContaining('write for example fixedWindow({ name: "free", limit: 10, window: "1m" })'),
    });
  });

  it('leaves no one limiter to reset', () => {
    const { layer } = createEnforcer({ limits }, testFramework);

    expect(() => layer.limiter).toThrow(expect.objectContaining({ field: 'policy' }));
  });
});
