import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createLimiter, tokenBucket, type Store } from '@sluice/core';
import { limitTools, type LimitedTool } from '@sluice/web/mcp';
import { z } from 'zod';

/** Limits the handlers of tools. Make it once: a server of MCP may be made for every request. */
export function limitResults(store: Store): LimitedTool {
  // Ten results at once, and two more every second.
  const policy = tokenBucket({ capacity: 10, refill: 2, every: '1s' });
  return limitTools({ limiter: createLimiter({ name: 'search', policy, store }) });
}

/** A server with one tool, a search whose calls cost as much as they ask for. */
export function createMcpServer(limited: LimitedTool): McpServer {
  const server = new McpServer({ name: 'archive', version: '1.0.0' });
  const search = ({ words, results }: { words: string; results: number }) => ({
    content: Array.from({ length: results }, (_, i) => ({ type: 'text' as const, text: `${words} ${String(i)}` })),
  });
  server.registerTool(
    'search',
    { description: 'Finds documents.', inputSchema: { words: z.string(), results: z.number().int().min(1).max(100) } },
    limited('search', search, { cost: ({ results }) => results }),
  );
  return server;
}
