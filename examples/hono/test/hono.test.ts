import { expect, it } from '@jest/globals';
import { useExample } from '@sluice/testkit';
import worker from '../src/worker.ts';

it('allows three failed logins on Node.js, and any number of good ones', async () => {
  await useExample(new URL('../dist/main.js', import.meta.url), async (url) => {
    const statuses = [];
    for (const password of ['right', 'a', 'right', 'b', 'c', 'right']) {
      const headers = { 'x-password': password };
      statuses.push((await fetch(`${url}/login`, { method: 'POST', headers })).status);
    }

    expect(statuses).toEqual([204, 401, 204, 401, 401, 429]);
    expect((await fetch(url)).headers.get('ratelimit')).toMatch(/^"service";r=53;t=\d+$/);
  });
});

it('counts each client of a worker by the address that Cloudflare states', async () => {
  const get = async (address: string): Promise<string | null> => {
    const response = await worker.fetch(new Request('http://test/', { headers: { 'cf-connecting-ip': address } }));
    return response.headers.get('ratelimit');
  };

  expect([await get('203.0.113.1'), await get('203.0.113.1'), await get('203.0.113.2')]).toEqual([
    '"service";r=59;t=60',
    '"service";r=58;t=60',
    '"service";r=59;t=60',
  ]);
});
