import type { Decision, Limiter } from '@sluice/core';
import { denialFor, joinParts } from '@sluice/core/http';
import { shown, typeError } from '@sluice/core/spi';

/** Who calls a tool: what the MCP SDK gives a handler as its last argument. */
export interface Caller {
  readonly sessionId?: string | undefined;
  readonly authInfo?: { readonly clientId: string; readonly extra?: Readonly<Record<string, unknown>> } | undefined;
}

/** A call of a tool, from which keys are made. */
export interface ToolCall {
  readonly tool: string;
  /** The subject of the token (`authInfo.extra.sub`), otherwise its client. */
  readonly user: string | undefined;
  readonly session: string | undefined;
  readonly caller: Caller;
}

/** The limiter that decides, and the key that a call counts for. */
export interface ToolLimits<Key> {
  /** With `limits`, several budgets are one decision, and `key` returns a key for each. */
  readonly limiter: Limiter<Key>;
  /** Default: the user and the tool; without authentication, the session and the tool. */
  readonly key?: (call: ToolCall) => Key;
}

/** The result of a denied call. It tells the model that the call failed, why, and how long to wait. */
export interface DeniedCall {
  [field: string]: unknown;
  isError: true;
  content: [{ type: 'text'; text: string }];
  /** `sluice/retryAfterMs`: null if waiting does not help. */
  _meta: { 'sluice/retryAfterMs': number | null };
}

/** Wraps the handler of a tool. `cost` is the cost of one call; default 1. */
export type LimitedTool = <Given extends readonly unknown[], Result>(
  tool: string,
  handler: (...given: Given) => Result | Promise<Result>,
  options?: { readonly cost?: number | ((...given: Given) => number) },
) => (...given: Given) => Promise<Result | DeniedCall>;

/**
 * Limits the tools of an MCP server: `server.registerTool('search', config, limited('search', handler))`. Call it once,
 * where you create the limiter, because a server may be created for each request. A denied call does not reach its
 * handler.
 *
 * @returns The function that wraps a handler. The wrapped handler rejects like `limiter.consume`, and with TypeError
 * `SLUICE_KEY_INVALID` for a call without user and session if there is no `key`.
 */
export function limitTools(limits: ToolLimits<string>): LimitedTool;
export function limitTools<Key>(limits: ToolLimits<Key> & { readonly key: (call: ToolCall) => Key }): LimitedTool;
export function limitTools<Key>({ limiter, key = makeKey as (call: ToolCall) => Key }: ToolLimits<Key>): LimitedTool {
  return (tool, handler, { cost = 1 } = {}) =>
    async (...given) => {
      const units = typeof cost === 'function' ? cost(...given) : cost;
      const decision = await limiter.consume(key(describeCall(tool, given.at(-1) as Caller | undefined)), units);
      return decision.allowed ? handler(...given) : makeDeniedCall(decision);
    };
}

function describeCall(tool: string, caller: Caller = {}): ToolCall {
  const { authInfo, sessionId } = caller;
  const subject = authInfo?.extra?.['sub'];
  return { tool, user: typeof subject === 'string' ? subject : authInfo?.clientId, session: sessionId, caller };
}

function makeKey({ tool, user, session }: ToolCall): string {
  const parts = user === undefined ? ['session', session, tool] : ['user', user, tool];
  const key = joinParts(parts);
  if (key !== undefined) return key;
  throw typeError(
    'SLUICE_KEY_INVALID',
    `a call of the tool ${shown(tool)} has neither a user nor a session; authenticate callers, or for a server with one client write key: ({ tool }) => tool; nothing was consumed`,
  );
}

function makeDeniedCall(decision: Decision): DeniedCall {
  const text = `${denialFor(decision).detail} The tool was not called.`;
  return { isError: true, content: [{ type: 'text', text }], _meta: { 'sluice/retryAfterMs': decision.retryAfterMs } };
}
