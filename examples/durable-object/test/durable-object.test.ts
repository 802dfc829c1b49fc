import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startWorkerd, type Workerd } from '@sluice/testkit';

let workerd: Workerd;
beforeAll(async () => {
  workerd = await startWorkerd(new URL('../src/worker.ts', import.meta.url));
}, 60_000);
afterAll(() => workerd.stop());

async function get(country: string, user?: string): Promise<readonly [number, string | null]> {
  const headers = { 'cf-connecting-ip': '203.0.113.9', 'cf-ipcountry': country };
  const response = await fetch(workerd.url, {
    headers: user === undefined ? headers : { ...headers, authorization: user },
  });
  return [response.status, response.headers.get('ratelimit')];
}

it('limits by country and by user', async () => {
  for (let left = 4; left >= 0; left--) {
    expect(await get('CH', 'ann')).toEqual([200, expect.stringContaining(`"user";r=${String(left)}`)]);
  }
  expect(await get('CH', 'ann')).toEqual([429, expect.stringContaining('"user";r=0')]);

  expect(await get('CH', 'bob')).toEqual([200, expect.stringContaining('"country";r=994')]);
  expect(await get('FR')).toEqual([200, expect.stringContaining('"country";r=999')]);
});
