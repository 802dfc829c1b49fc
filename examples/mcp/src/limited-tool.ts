import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Limiter } from '@sluice/core';

/** What tells the caller of a tool: the `extra` of a handler of the MCP SDK. */
export interface Caller {
  readonly authInfo?: { readonly clientId: string };
  readonly sessionId?: string;
}

/** How a tool is limited. */
export interface ToolLimit<Args> {
  readonly limiter: Limiter;
  /** Units of a call. Default 1. */
  readonly cost?: (args: Args) => number;
  /** Whose budget it is. Default: the authenticated client, or else the session. */
  readonly key?: (caller: Caller) => string;
}

/**
 * A handler of a tool with a limit. A denied call gets a result that a model understands: that it failed, and when to try
 * again. An exception would only say that the tool is broken.
 */
export function limitedTool<Args, Extra extends Caller>(
  { limiter, cost = () => 1, key = clientOf }: ToolLimit<Args>,
  handler: (args: Args, extra: Extra) => CallToolResult | Promise<CallToolResult>,
): (args: Args, extra: Extra) => Promise<CallToolResult> {
  return async (args, extra) => {
    const decision = await limiter.consume(key(extra), cost(args));
    if (decision.allowed) return handler(args, extra);
    const { retryAfterMs } = decision;
    const text =
      retryAfterMs === null
        ? 'This call is larger than the limit. Ask for less.'
        : `Too many calls. Try again in ${String(Math.max(Math.ceil(retryAfterMs / 1000), 1))} seconds.`;
    return { isError: true, content: [{ type: 'text', text }], _meta: { 'sluice/retryAfterMs': retryAfterMs } };
  };
}

function clientOf({ authInfo, sessionId }: Caller): string {
  return authInfo?.clientId ?? sessionId ?? 'anonymous';
}
