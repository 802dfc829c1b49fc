import type {
  Clock,
  IoredisClient,
  NodeRedisClient,
  RedisClient,
  RedisStoreOptions,
  Store,
  StoreAnswers,
  StoreCall,
  StoreRequest,
} from '@sluice/old-core';
import { redisStoreAt } from '@sluice/old-core/spi';

type Nodes = NonNullable<StoreCall['nodes']>;

/** Some fourteen years: a whole multiple of every window up to ten days that people write. */
const ERA_MS = 2 * 2520 * 86_400_000;

/**
 * A Redis store that takes its instants from `clock`, for tests: the scripts of `redisStore`, but for the line that
 * asks the server for the time. Redis itself stays in the present, so instants are shifted into the future, all by the
 * same whole number of windows: no expiry is in the past. `atMs` in decisions is shifted back.
 *
 * @param eraMs - The shift. Windows that do not divide the default one need a clock that is itself in the future,
 * and 0 here: then the store decides in batches as well, which it does not when it shifts.
 */
export function clockedRedisStore(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  clock: Clock,
  options: RedisStoreOptions,
  eraMs: number = ERA_MS,
): Store {
  const store = redisStoreAt(client, options, () => Math.floor(clock.now()) + eraMs);
  if (eraMs === 0) return store;
  return {
    source: 'redis',
    shardOf: (subject) => store.shardOf?.(subject),
    connect: () => {
      store.connect?.();
    },
    close: () => store.close(),
    async perform(requests, call) {
      const nodes = call?.nodes;
      const own = nodes === undefined ? call : { ...call, abandoned: false, nodes: shiftedNodes(nodes, eraMs) };
      return answersLater(await store.perform(requestsLater(requests, eraMs), own), -eraMs);
    },
  };
}

/** The nodes as the store behind asks them, at its own instants. */
function shiftedNodes(nodes: Nodes, ms: number): Nodes {
  const shifted =
    (ask: Nodes['ask']): Nodes['ask'] =>
    async (requests) =>
      answersLater(await ask(requestsLater(requests, -ms)), ms);
  return { ...nodes, ask: shifted((asked) => nodes.ask(asked)), refund: shifted((asked) => nodes.refund(asked)) };
}

function answersLater(answers: StoreAnswers, ms: number): StoreAnswers {
  return answers.map((answer) => (answer instanceof Error ? answer : { ...answer, atMs: answer.atMs + ms }));
}

function requestsLater(requests: readonly StoreRequest[], ms: number): readonly StoreRequest[] {
  return requests.map((request) => later(request, ms));
}

/** The request with its instants later by so much; 0 is none. */
function later(request: StoreRequest, ms: number): StoreRequest {
  if (!('part' in request)) return request;
  const moved = (atMs: number): number => (atMs === 0 ? 0 : atMs + ms);
  const { chargedUntilMs, byMs } = request as { chargedUntilMs?: readonly number[]; byMs?: number };
  return {
    ...request,
    ...(chargedUntilMs === undefined ? {} : { chargedUntilMs: chargedUntilMs.map(moved) }),
    ...(byMs === undefined ? {} : { byMs: moved(byMs) }),
  };
}
