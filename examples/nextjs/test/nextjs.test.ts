import { ExampleProcess } from '@sluice/testkit';
import { describe, expect, it } from '@jest/globals';
import { GET, POST } from '../src/app/api/orders/route.ts';
import { proxy } from '../src/proxy.ts';

const from = (address: string, init: RequestInit = {}): Request =>
  new Request('http://test/api/orders', { ...init, headers: { 'x-real-ip': address } });
const order = (address: string): Request => from(address, { method: 'POST', body: '{"item":"tea"}' });

describe('the route handler of new orders', () => {
  it('allows two a minute for each address, and leaves the others alone', async () => {
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await POST(order('203.0.113.1')));
    const other = await POST(order('203.0.113.2'));

    expect(answers.map(({ status }) => status)).toEqual([201, 201, 429]);
    expect(await answers[1]?.json()).toEqual({ item: 'tea', left: 0 });
    expect(answers[2]?.headers.get('retry-after')).toMatch(/^\d+$/);
    expect([other.status, GET().status]).toEqual([201, 200]);
  });
});

describe('the proxy', () => {
  it('passes requests on with fields for their response, and answers those over the limit', async () => {
    const answers = [];
    for (let i = 0; i < 21; i++) answers.push(await proxy(from('203.0.113.3')));

    expect(answers.slice(0, 20).every(({ headers }) => headers.get('x-middleware-next') === '1')).toBe(true);
    expect(answers[0]?.headers.get('ratelimit')).toMatch(/^"everything";r=19/);
    expect((await proxy(order('203.0.113.4'))).headers.get('ratelimit')).toBeNull(); // its route has fields of its own
    expect([answers[20]?.status, answers[20]?.headers.get('x-middleware-next')]).toEqual([429, null]);
  });
});

describe('the example', () => {
  it('starts, responds as its output describes, and ends on request', async () => {
    const example = new ExampleProcess(new URL('../dist/main.js', import.meta.url), {});
    const port = await example.listens();

    const answers = [];
    for (let i = 0; i < 3; i++) {
      answers.push(
        await fetch(`http://127.0.0.1:${String(port)}/api/orders`, { method: 'POST', body: '{"item":"tea"}' }),
      );
    }

    expect(answers.map(({ status }) => status)).toEqual([201, 201, 429]);
    expect(answers[0]?.headers.get('ratelimit')).toBe('"orders";r=1;t=60');
    example.stop();
    expect(await example.ends()).toBe(0);
  });
});
