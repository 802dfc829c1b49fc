import { describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { createLimiter, fixedWindow, type Limiter } from '@sluice/core';
import { limitTools, type Caller, type LimitedTool } from '@sluice/web/mcp';
import { z } from 'zod';

const perHour = (limit: number): Limiter => createLimiter({ policy: fixedWindow({ limit, window: '1h' }) });
const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] });

describe('the tools of an MCP server', () => {
  it('cost what their arguments ask for; a denied one is not called, and the model reads why and for how long', async () => {
    const [found, server] = [[] as string[], new McpServer({ name: 'archive', version: '1.0.0' })];
    const limited = limitTools({ limiter: perHour(5) });
    const search = ({ words }: { words: string; results: number }): CallToolResult => {
      found.push(words);
      return text(words);
    };
    const inputSchema = { words: z.string(), results: z.number() };
    server.registerTool('search', { inputSchema }, limited('search', search, { cost: ({ results }) => results }));
    server.registerTool(
      'time',
      {},
      limited('time', () => text('noon')),
    );
    const [here, there] = InMemoryTransport.createLinkedPair();
    [here.sessionId, there.sessionId] = ['s1', 's1'];
    const client = new Client({ name: 'test', version: '1.0.0' });
    await Promise.all([server.connect(there), client.connect(here)]);
    const ask = async (results: number) => client.callTool({ name: 'search', arguments: { words: 'otters', results } });

    const answers = [await ask(3), await ask(3), await ask(6), await client.callTool({ name: 'time' })];

    expect(answers).toMatchObject([
      { content: [{ text: 'otters' }] },
      {
        isError: true,
        content: [{ text: 'The limit default is used up. Try again in 3600 seconds. The tool was not called.' }],
        _meta: { 'sluice/retryAfterMs': expect.any(Number) as unknown },
      },
      {
        content: [
          {
            text: 'The request costs more than the limit default ever allows, and waiting does not help. The tool was not called.',
          },
        ],
        _meta: { 'sluice/retryAfterMs': null },
      },
      { content: [{ text: 'noon' }] },
    ]);
    expect(found).toEqual(['otters']);
    await client.close();
  });
});

describe('the budget of a call', () => {
  const ann: Caller = { sessionId: 's1', authInfo: { clientId: 'desktop', extra: { sub: 'ann' } } };
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

  it('is that of the client if the token names no user, and never that of a session with the same name', async () => {
    const limited = limitTools({ limiter: perHour(1) });

    expect(await call(limited, { authInfo: { clientId: 'desktop' } })).toBe(true);
    expect(await call(limited, { authInfo: { clientId: 'desktop' }, sessionId: 's' })).toBe(false);
    expect(await call(limited, { sessionId: 'desktop' })).toBe(true);
  });

  it('is an error if there is neither a user nor a session, and no key', async () => {
    await expect(call(limitTools({ limiter: perHour(1) }), {})).rejects.toMatchObject({
      code: 'SLUICE_KEY_INVALID',
      message: expect.stringContaining('write key: ({ tool }) => tool') as unknown,
    });
    expect(await call(limitTools({ limiter: perHour(1), key: ({ tool }) => tool }), {})).toBe(true);
  });
});
