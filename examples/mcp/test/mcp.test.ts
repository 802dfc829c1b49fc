import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { postJson, useExample } from '@sluice/testkit';
import { afterEach, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/core';
import { fakeClock } from '@sluice/core/testing';
import { createLimiters, createMcpServer, type Limiters } from '../src/app.ts';

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});

/** A client that is connected to a server of its own, as each session has one. */
async function connect(limiters: Limiters, clientId: string): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  const authInfo = { token: clientId, clientId, scopes: [] };
  const send = near.send.bind(near);
  near.send = async (message, options) => send(message, { ...options, authInfo });
  await createMcpServer(limiters).connect(far);
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(near);
  clients.push(client);
  return client;
}

const search = (client: Client, results: number) =>
  client.callTool({ name: 'search', arguments: { words: 'sluice', results } });

describe('a tool with a limit', () => {
  it('runs until its client has used the budget, over all its sessions', async () => {
    const clock = fakeClock();
    const limiters = createLimiters(memoryStore({ clock }));
    const [first, second] = [await connect(limiters, 'ann'), await connect(limiters, 'ann')];

    const allowed = await search(first, 8);
    const denied = await search(second, 8);
    clock.advance(3000);
    const later = await search(second, 8);

    expect([allowed.isError, denied.isError, later.isError]).toEqual([undefined, true, undefined]);
    expect(allowed.content).toHaveLength(8);
    expect(denied.content).toEqual([{ type: 'text', text: 'Too many calls. Try again in 3 seconds.' }]);
    expect(denied._meta).toEqual({ 'sluice/retryAfterMs': 3000 });
  });

  it('has a budget for each client, and says that a call can never fit', async () => {
    const limiters = createLimiters(memoryStore({ clock: fakeClock() }));
    const [ann, bob] = [await connect(limiters, 'ann'), await connect(limiters, 'bob')];
    await search(ann, 10);

    const [denied, allowed, never] = [await search(ann, 1), await search(bob, 10), await search(bob, 100)];

    expect([denied.isError, allowed.isError]).toEqual([true, undefined]);
    expect(never.content).toEqual([{ type: 'text', text: 'This call is larger than the limit. Ask for less.' }]);
  });
});

it('the example answers as its output describes', async () => {
  await useExample(new URL('../dist/main.js', import.meta.url), async (url) => {
    const headers = { accept: 'application/json, text/event-stream', authorization: 'Bearer ann' };
    const params = { name: 'search', arguments: { words: 'sluice', results: 8 } };
    const call = async (): Promise<unknown> => {
      const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const answer = (await (await postJson(`${url}/mcp`, body, headers)).json()) as { result: { isError?: true } };
      return answer.result.isError;
    };

    expect([await call(), await call()]).toEqual([undefined, true]);
  });
});
