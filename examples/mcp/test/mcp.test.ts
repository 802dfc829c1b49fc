import { postJson, useExample } from '@sluice/testkit';
import { expect, it } from '@jest/globals';

it('a client may call the tool until its budget is used, and reads how long to wait, or that a call can never fit', async () => {
  await useExample(new URL('../dist/main.js', import.meta.url), async (url) => {
    const call = async (client: string, results: number): Promise<unknown> => {
      const headers = { accept: 'application/json, text/event-stream', authorization: `Bearer ${client}` };
      const params = { name: 'search', arguments: { words: 'sluice', results } };
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      return ((await (await postJson(`${url}/mcp`, body, headers)).json()) as { result: unknown }).result;
    };
    const denied = (retryAfterMs: unknown) => ({ isError: true, _meta: { 'sluice/retryAfterMs': retryAfterMs } });

    expect(await call('ann', 8)).toMatchObject({ content: { length: 8 } });
    expect(await call('ann', 8)).toMatchObject(denied(expect.any(Number)));
    expect(await call('bob', 100)).toMatchObject(denied(null));
    expect(await call('bob', 8)).toMatchObject({ content: { length: 8 } });
  });
});
