import { byAll, byHeader, byIp, byMethod, byRoute, byUser } from '@sluice/http';
import {
  concurrency,
  createPolicies,
  escalate,
  fixedWindow,
  leakyBucket,
  managed,
  slidingWindow,
  tokenBucket,
  type Decision,
} from '@sluice/core';
import { headerReader, namedByHeaders, type HeaderOf } from './header-of.ts';
import type { Scene } from './scene.ts';
import { describedStore, type RedisClients, type StoreDescription } from './stores.ts';
import type { AdapterTarget } from './target.ts';

/** Where a description is read: its scenario, and the application whose lists get the entries. */
export interface NameContext {
  readonly scene: Scene;
  readonly app: string;
  readonly target: AdapterTarget;
  readonly clients: RedisClients;
}

type Make = (parameters: never, context: NameContext) => unknown;

/** A function of the request and the response, as options take them. */
type RequestFunction = (request: unknown, response: unknown) => unknown;

/** A value where a function may stand is a function that returns it. */
function functionOf(value: unknown): RequestFunction {
  return typeof value === 'function' ? (value as RequestFunction) : () => value;
}

/** What the names in descriptions stand for. Another language implements this table. */
export const NAMES: Readonly<Record<string, Make>> = {
  // values that JSON lacks
  undefined: () => undefined,
  number: ({ text }: { text: string }) => Number(text),

  // policies
  fixedWindow,
  slidingWindow,
  tokenBucket,
  leakyBucket,
  concurrency,
  managed: ({ name }: { name: string }) => managed(name),
  escalate,

  // keys
  byIp,
  byAll,
  byHeader: ({ name }: { name: string }) => byHeader(name),
  byUser: ({ pick }: { pick?: Parameters<typeof byUser>[0] }) => (pick === undefined ? byUser() : byUser(pick)),
  byRoute,
  byMethod,

  // things of the scenario
  store: (described: StoreDescription, { scene, clients, target }) => describedStore(described, scene, clients, target),
  limiter: ({ id }: { id: string }, { scene }) => scene.limiters.get(id),
  policies: ({ source }: { source: string }, { scene }) => createPolicies(scene.source(source)),

  // functions of the request
  returns:
    ({ value }: { value: unknown }) =>
    () =>
      value,
  inTurn({ values }: { values: readonly unknown[] }) {
    let turn = 0;
    return (request: unknown, response: unknown) =>
      functionOf(values[Math.min(turn++, values.length - 1)])(request, response);
  },
  header:
    (described: HeaderValue, { target }) =>
    (request: unknown) =>
      headerValue(described, headerReader(target), request),
  chosenBy:
    ({ header, from }: { header: string; from: Readonly<Record<string, unknown>> }, { target }) =>
    (request: unknown) =>
      from[String(headerReader(target)(request, header))],
  managedBy:
    ({ header }: { header: string }, { target }) =>
    (request: unknown) =>
      managed(String(headerReader(target)(request, header))),
  when:
    ({ header, is, then, otherwise }: Choice, { target }) =>
    (request: unknown, response: unknown) =>
      functionOf(headerReader(target)(request, header) === is ? then : otherwise)(request, response),
  later:
    ({ value }: { value: unknown }) =>
    async (request: unknown, response: unknown) => {
      await Promise.resolve();
      return functionOf(value)(request, response);
    },
  throws: (described: { message?: string; value?: unknown }) => () => {
    // Applications throw such values.
    throw 'message' in described ? new Error(described.message) : described.value;
  },
  recorded:
    ({ as, then }: { as: string; then: unknown }, { scene, app, target }) =>
    (request: unknown, response: unknown) => {
      const list = namedByHeaders(as, (name) => headerReader(target)(request, name));
      const hasResponse = typeof response === 'object' && response !== null;
      for (const name of ['functions', list]) scene.records.add(`${app}/${name}`, { as: list, hasResponse });
      return functionOf(then)(request, response);
    },
  held:
    ({ gate, then }: { gate: string; then: unknown }, { scene, target }) =>
    async (request: unknown, response: unknown) => {
      await scene.gate(namedByHeaders(gate, (name) => headerReader(target)(request, name))).opened;
      return functionOf(then)(request, response);
    },

  // onDecision and onDenied
  onDecision:
    ({ header, starts, then }: { header?: string; starts?: string; then?: unknown }, { scene, app, target }) =>
    (decision: Decision, { key, request, response }: { key: unknown; request: unknown; response: unknown }) => {
      if (starts !== undefined && decision.outcome === 'denied') scene.clock(starts, 0).start();
      const sent = header === undefined ? {} : { header: headerReader(target)(request, header) };
      scene.records.add(`${app}/decisions`, { ...shown(decision), key, ...sent });
      return functionOf(then)(request, response);
    },
  onDenied:
    ({ header, answer }: { header: string; answer: object }, { scene, app, target }) =>
    async (request: unknown, response: unknown, decision: Decision) => {
      await new Promise(setImmediate);
      scene.records.add(`${app}/denials`, { ...shown(decision), header: headerReader(target)(request, header) });
      if (target.answer === undefined) throw new Error('nothing to answer with');
      return target.answer(response as never, answer);
    },
};

/** A decision without what JSON cannot carry. */
export function shown(decision: Decision): object {
  return { ...decision, error: decision.error?.message };
}

interface HeaderValue {
  readonly name: string;
  readonly as?: 'text' | 'number' | 'decoded';
  /** What is in front of the value. */
  readonly prefix?: string;
  readonly default?: unknown;
}

function headerValue(
  { name, as = 'text', prefix, default: missing }: HeaderValue,
  headerOf: HeaderOf,
  request: unknown,
) {
  const text = headerOf(request, name);
  if (text === undefined) return missing;
  if (as === 'number') return Number(text);
  if (as === 'decoded') return decodeURIComponent(text);
  return prefix === undefined ? text : prefix + text;
}

interface Choice {
  readonly header: string;
  readonly is: string;
  readonly then?: unknown;
  readonly otherwise?: unknown;
}
