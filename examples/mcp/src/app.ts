import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createLimiter, tokenBucket, type Limiter, type Store } from '@sluice/core';
import { z } from 'zod';
import { limitedTool } from './limited-tool.ts';

/** The limiters of the tools. Make them once: a server of MCP may be made for every request. */
export interface Limiters {
  readonly search: Limiter;
}

export function createLimiters(store: Store): Limiters {
  // Ten results at once, and two more every second.
  return {
    search: createLimiter({ name: 'search', policy: tokenBucket({ capacity: 10, refill: 2, every: '1s' }), store }),
  };
}

/** A server with one tool, a search whose calls cost as much as they ask for. */
export function createMcpServer({ search }: Limiters): McpServer {
  const server = new McpServer({ name: 'archive', version: '1.0.0' });
  server.registerTool(
    'search',
    { description: 'Finds documents.', inputSchema: { words: z.string(), results: z.number().int().min(1).max(100) } },
    limitedTool(
      { limiter: search, cost: ({ results }: { words: string; results: number }) => results },
      ({ words, results }) => ({
        content: Array.from({ length: results }, (_result, i) => ({
          type: 'text' as const,
          text: `${words} ${String(i)}`,
        })),
      }),
    ),
  );
  return server;
}
