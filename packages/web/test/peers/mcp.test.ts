import { describe, expect, it, jest } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { createLimiter, fixedWindow, type Limiter } from '@sluice/core';
import { limitTools, type Caller, type LimitedTool } from '@sluice/web/mcp';
import { z } from 'zod';

const perHour = (limit: number): Limiter => createLimiter({ policy: fixedWindow({ limit, window: '1h' }) });
const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] });
const ann: Caller = { sessionId: 's1', authInfo: { clientId: 'desktop', extra: { sub: 'ann' } } };

/** A server whose tool `search` costs as many units as it is asked for, and a client of it with one session. */
async function serve(limited: LimitedTool, search = jest.fn(text)): Promise<Client> {
  const server = new McpServer({ name: 'archive', version: '1.0.0' });
  server.registerTool(
    'search',
    { inputSchema: { words: z.string(), results: z.number() } },
    limited('search', ({ words }: { words: string; results: number }) => search(words), {
      cost: ({ results }) => results,
    }),
  );
  server.registerTool(
    'time',
    {},
    limited('time', () => text('noon')),
  );
  const [here, there] = InMemoryTransport.createLinkedPair();
  here.sessionId = 's1';
  there.sessionId = 's1';
  const client = new Client({ name: 'test', version: '1.0.0' });
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}

const search = (client: Client, results: number): Promise<unknown> =>
  client.callTool({ name: 'search', arguments: { words: 'otters', results } });

describe('a tool of an MCP server', () => {
  it('costs what its arguments ask for; beyond the limit it is not called, and the model reads why and for how long', async () => {
    const found = jest.fn(text);
    const client = await serve(limitTools({ limiter: perHour(5) }), found);

    expect(await search(client, 3)).toMatchObject({ content: [{ text: 'otters' }] });
    expect(await search(client, 3)).toMatchObject({
      isError: true,
      content: [
        { type: 'text', text: 'The limit default is used up. Try again in 60 minutes. The tool was not called.' },
      ],
      _meta: { 'sluice/retryAfterMs': expect.any(Number) as unknown },
    });
    expect(found).toHaveBeenCalledTimes(1);
    await client.close();
  });

  it('has a budget of its own, also without arguments', async () => {
    const client = await serve(limitTools({ limiter: perHour(1) }));

    await search(client, 1);
    expect(await client.callTool({ name: 'time' })).toMatchObject({ content: [{ text: 'noon' }] });
    expect(await client.callTool({ name: 'time' })).toMatchObject({ isError: true });
    await client.close();
  });

  it('says that a call larger than the limit is never allowed', async () => {
    const client = await serve(limitTools({ limiter: perHour(5) }));

    expect(await search(client, 6)).toMatchObject({
      content: [{ text: 'The limit default is used up, and waiting does not help. The tool was not called.' }],
      _meta: { 'sluice/retryAfterMs': null },
    });
    await client.close();
  });
});

describe('the budget of a call', () => {
  const call = async (limited: LimitedTool, caller: Caller): Promise<boolean> => {
    const answer = await limited('search', (_args: object, _extra: Caller) => text('found'))({}, caller);
    return !('isError' in answer);
  };

  it('is that of the user, whatever the session', async () => {
    const limited = limitTools({ limiter: perHour(1) });

    expect(await call(limited, ann)).toBe(true);
    expect(await call(limited, { ...ann, sessionId: 's2' })).toBe(false);
    expect(await call(limited, { ...ann, authInfo: { clientId: 'desktop', extra: { sub: 'bob' } } })).toBe(true);
  });

  it('is that of the client where the token names no user, and never that of a session called alike', async () => {
    const limited = limitTools({ limiter: perHour(1) });

    expect(await call(limited, { authInfo: { clientId: 'desktop' } })).toBe(true);
    expect(await call(limited, { authInfo: { clientId: 'desktop' }, sessionId: 's' })).toBe(false);
    expect(await call(limited, { sessionId: 'desktop' })).toBe(true);
  });

  it('is several at once, as one decision', async () => {
    const limiter = createLimiter({
      limits: [
        { name: 'per-session', policy: fixedWindow({ limit: 1, window: '1h' }) },
        { name: 'per-user', policy: fixedWindow({ limit: 2, window: '1h' }) },
      ],
    });
    const limited = limitTools({
      limiter,
      key: ({ user = 'guest', session = 'none' }) => ({ 'per-session': session, 'per-user': user }),
    });

    expect(await call(limited, ann)).toBe(true);
    expect(await call(limited, ann)).toBe(false); // and takes nothing from the user
    expect(await call(limited, { ...ann, sessionId: 's2' })).toBe(true);
    expect(await call(limited, { ...ann, sessionId: 's3' })).toBe(false);
  });

  it('is an error where there is neither a user nor a session, and consumes nothing', async () => {
    const limited = limitTools({ limiter: perHour(1) });

    await expect(call(limited, {})).rejects.toMatchObject({
      code: 'SLUICE_KEY_INVALID',
      message: expect.stringContaining('write key: ({ tool }) => tool') as unknown,
    });
    expect(await call(limitTools({ limiter: perHour(1), key: ({ tool }) => tool }), {})).toBe(true);
  });
});
