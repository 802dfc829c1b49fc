import type { Decision } from '@sluice/old-core';
import { encodeSubject, isPending } from '@sluice/old-core/spi';
import type { SentinelRule } from '../config/configuration.ts';
import type { Service } from '../service.ts';
import { ConnectedClients } from './connected-clients.ts';
import { STATUS, TYPE, type FlowRequest, type ParamFlowRequest, type TokenResult } from './messages.ts';
import { RequestCap } from './request-cap.ts';

/** envoyproxy/ratelimit's `near_limit`. */
const NEAR = 0.8;

const BAD_REQUEST: TokenResult = { status: STATUS.badRequest, remaining: 0 };
const NO_RULE: TokenResult = { status: STATUS.noRule, remaining: 0 };
const TOO_MANY: TokenResult = { status: STATUS.tooManyRequests, remaining: 0 };
const BLOCKED: TokenResult = { status: STATUS.blocked, remaining: 0 };
const FAILED: TokenResult = { status: STATUS.fail, remaining: 0 };

/** Decides about the requests of all connections of a listener, as Sentinel's `DefaultTokenService` answers them. */
export class TokenService {
  readonly clients: ConnectedClients;
  readonly #service: Service;
  readonly #timeoutMs: number;
  readonly #caps = new Map<string, RequestCap>();

  /** @param timeoutMs - How long a decision waits at most. */
  constructor(service: Service, timeoutMs: number) {
    this.#service = service;
    this.#timeoutMs = timeoutMs;
    this.clients = new ConnectedClients(service.core, (name) => service.configuration.sentinel.namespaces.has(name));
  }

  /** Never rejects, and answers in time: from the local fallback where the store does not. */
  decide(request: FlowRequest | ParamFlowRequest): TokenResult | Promise<TokenResult> {
    const { flowId, count } = request;
    const isFlow = request.type === TYPE.flow;
    if (flowId <= 0n || count <= 0 || (!isFlow && request.values.length === 0)) return BAD_REQUEST;
    const { flows, params } = this.#service.configuration.sentinel;
    const rule = (isFlow ? flows : params).get(flowId);
    if (rule === undefined) return NO_RULE;
    const nowMs = performance.now();
    if (!this.#isWithinCap(rule, nowMs)) return TOO_MANY;
    try {
      const decision = this.#ask(rule, request, nowMs + this.#timeoutMs);
      if (!isPending(decision)) return this.#resultOf(rule, request, decision);
      return decision.then(
        (decided) => this.#resultOf(rule, request, decided),
        () => FAILED,
      );
    } catch {
      return FAILED;
    }
  }

  close(): Promise<void> {
    return this.clients.close();
  }

  #isWithinCap({ numbers: { namespace } }: SentinelRule, nowMs: number): boolean {
    let cap = this.#caps.get(namespace);
    if (cap === undefined) this.#caps.set(namespace, (cap = new RequestCap()));
    return cap.allows(this.#service.configuration.sentinel.namespaces.get(namespace) ?? 0, nowMs);
  }

  #ask(rule: SentinelRule, request: FlowRequest | ParamFlowRequest, endMs: number): Decision | Promise<Decision> {
    const { core } = this.#service;
    const clients = rule.numbers.perClient ? this.clients.count(rule.numbers.namespace) : 1;
    const { count } = request;
    if (request.type === TYPE.flow) {
      return core.consume(rule.limit(clients), rule.subject, count, undefined, 'local', endMs);
    }
    const [value = ''] = request.values;
    if (request.values.length === 1) {
      return core.consume(rule.limit(clients, value), encodeSubject(value), count, undefined, 'local', endMs);
    }
    const parts = [...costsOf(request)].map(([one, cost]) => ({
      limit: rule.limit(clients, one),
      subject: encodeSubject(one),
      cost,
    }));
    return core.decide('consume', parts, 'local', endMs);
  }

  #resultOf(rule: SentinelRule, request: FlowRequest | ParamFlowRequest, decision: Decision): TokenResult {
    const { allowed, remaining, policies, source } = decision;
    this.#service.stats.count(`sentinel.${rule.name}`, {
      hits: request.count,
      allowed,
      isShadow: false,
      isNear: policies.some(({ used, limit }) => used > limit * NEAR),
      isCached: source === 'cache',
    });
    if (!allowed) return BLOCKED;
    const isOne = request.type === TYPE.flow || request.values.length === 1;
    return { status: STATUS.ok, remaining: isOne ? remaining : -1 };
  }
}

/** The units of each value: a value that is there twice pays twice. */
function costsOf({ values, count }: ParamFlowRequest): ReadonlyMap<string, number> {
  const costs = new Map<string, number>();
  for (const value of values) costs.set(value, (costs.get(value) ?? 0) + count);
  return costs;
}
