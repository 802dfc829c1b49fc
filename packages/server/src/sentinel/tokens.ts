import type { Decision } from '@sluice/core';
import type { SentinelRule } from '../config/sentinel-rule.ts';
import { makeWant } from '../limits.ts';
import type { Service } from '../service.ts';
import { ConnectedClients } from './clients.ts';
import { STATUS, TYPE, type TokenRequest, type TokenResult } from './codec.ts';

/** Decides about the requests of all connections of a listener, as Sentinel's `DefaultTokenService` answers them. */
export class Tokens {
  readonly clients: ConnectedClients;
  readonly #service: Service;
  readonly #timeoutMs: number;

  /** @param timeoutMs - How long a decision may wait. */
  constructor(service: Service, timeoutMs: number) {
    this.#service = service;
    this.#timeoutMs = timeoutMs;
    this.clients = new ConnectedClients(service.core.store, (name) =>
      service.configuration.sentinel.namespaces.has(name),
    );
  }

  /** Never rejects, and answers in time: from the local fallback if the store does not. */
  decide(request: TokenRequest): TokenResult | Promise<TokenResult> {
    const { type, flowId, count, values } = request;
    const isParam = type === TYPE.paramFlow;
    if (flowId <= 0n || count <= 0 || (isParam && values.length === 0))
      return { status: STATUS.badRequest, remaining: 0 };
    const { flows, params } = this.#service.configuration.sentinel;
    const rule = (isParam ? params : flows).get(flowId);
    if (rule === undefined) return { status: STATUS.noRule, remaining: 0 };
    const failed = (): TokenResult => ({ status: STATUS.fail, remaining: 0 });
    try {
      const decision = this.#ask(rule, request);
      if (!(decision instanceof Promise)) return this.#resultOf(rule, request, decision);
      return decision.then((decided) => this.#resultOf(rule, request, decided), failed);
    } catch {
      return failed();
    }
  }

  #ask(rule: SentinelRule, { type, count, values }: TokenRequest): Decision | Promise<Decision> {
    const { namespace, maxClients, perClient, resource } = rule.numbers;
    const clients = perClient ? Math.min(this.clients.count(namespace), maxClients) : 1;
    const costs = new Map<string, number>();
    // A value that occurs twice is charged twice.
    for (const value of values) costs.set(value, (costs.get(value) ?? 0) + count);
    const wants =
      type === TYPE.flow
        ? [makeWant(rule.limit(clients), resource, count)]
        : [...costs].map(([value, cost]) => makeWant(rule.limit(clients, value), value, cost));
    return this.#service.core.decide('take', wants, { endMs: performance.now() + this.#timeoutMs });
  }

  #resultOf(rule: SentinelRule, { type, count, values }: TokenRequest, decision: Decision): TokenResult {
    const { allowed, remaining, policies, source } = decision;
    const decided = { hits: count, allowed, isShadow: false, policies, source };
    this.#service.stats.count(`sentinel.${rule.name}`, decided);
    if (!allowed) return { status: STATUS.blocked, remaining: 0 };
    // Several values have no common number.
    return { status: STATUS.ok, remaining: type === TYPE.flow || values.length === 1 ? remaining : -1 };
  }
}
