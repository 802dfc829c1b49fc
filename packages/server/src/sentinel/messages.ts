/** The kinds of messages. Sentinel names others, CONCURRENT_FLOW_ACQUIRE and RELEASE, which have no form on the wire. */
export const TYPE = { ping: 0, flow: 1, paramFlow: 2 } as const;

/** `TokenResultStatus`. Clients fall back to their own limit, or let the request pass, for all but the first two. */
export const STATUS = { ok: 0, blocked: 1, noRule: 3, fail: -1, tooManyRequests: -2, badRequest: -4 } as const;
export type Status = (typeof STATUS)[keyof typeof STATUS];

/** A client that says which application it is of. Undefined: a blank name. */
export interface Ping {
  readonly type: typeof TYPE.ping;
  readonly xid: number;
  readonly namespace: string | undefined;
}

/** A request for units of a rule. */
export interface FlowRequest {
  readonly type: typeof TYPE.flow;
  readonly xid: number;
  readonly flowId: bigint;
  readonly count: number;
}

/** A request for units of each of these values of a rule. */
export interface ParamFlowRequest {
  readonly type: typeof TYPE.paramFlow;
  readonly xid: number;
  readonly flowId: bigint;
  readonly count: number;
  /** As `writtenParameter` has them. */
  readonly values: readonly string[];
}

export type Message = Ping | FlowRequest | ParamFlowRequest;

/** The answer to a request for units. */
export interface TokenResult {
  readonly status: Status;
  /** -1 where several values have no number in common. */
  readonly remaining: number;
}
