import { expect, it } from '@jest/globals';
import { GET, POST } from '../src/app/api/orders/route.ts';
import { proxy } from '../src/proxy.ts';

const from = (address: string, init: RequestInit = {}): Request =>
  new Request('http://test/api/orders', { ...init, headers: { 'x-real-ip': address } });
const order = (address: string): Request => from(address, { method: 'POST', body: '{"item":"tea"}' });

it('the route handler allows two new orders a minute for each address, and leaves other methods alone', async () => {
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await POST(order('203.0.113.1')));

  expect(answers.map(({ status }) => status)).toEqual([201, 201, 429]);
  expect(await answers[1]?.json()).toEqual({ item: 'tea', left: 0 });
  expect(answers[2]?.headers.get('retry-after')).toMatch(/^\d+$/);
  expect([(await POST(order('203.0.113.2'))).status, GET().status]).toEqual([201, 200]);
});

it('the proxy passes requests on with fields for their response, and answers those over the limit', async () => {
  const answers = [];
  for (let i = 0; i < 21; i++) answers.push(await proxy(from('203.0.113.3')));

  expect(answers.slice(0, 20).every(({ headers }) => headers.get('x-middleware-next') === '1')).toBe(true);
  expect(answers[0]?.headers.get('ratelimit')).toMatch(/^"everything";r=19/);
  expect((await proxy(order('203.0.113.4'))).headers.get('ratelimit')).toBeNull(); // its route has fields of its own
  expect([answers[20]?.status, answers[20]?.headers.get('x-middleware-next')]).toEqual([429, null]);
});
