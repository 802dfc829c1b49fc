import type { Store, StoreAnswer, StoreRequest } from '@sluice/old-core';
import type { Gate } from './gate.ts';
import { Log } from './log.ts';

type StoreAnswers = readonly (StoreAnswer | Error)[];

/** A store that a scenario looks at. */
export interface WatchedStore extends Store {
  readonly calls: Log<readonly StoreRequest[]>;
  /** The requests of this kind that it has answered. */
  answered(op: StoreRequest['op']): Log<StoreRequest>;
}

/** The abilities of a watched store beside storing. */
export interface Watch {
  /** Decides at once, and answers consumes when this gate opens. */
  readonly hold?: Gate;
  /** Passes for a store of Redis, which answers later. */
  readonly asRedis?: boolean;
}

/** The same options with a watched store. */
export function watched<Options extends { readonly store: Store }>(
  options: Options,
  { hold, asRedis = false }: Watch = {},
): Options & { readonly store: WatchedStore } {
  const { store: inner } = options;
  const calls = new Log<readonly StoreRequest[]>();
  const logs = new Map<string, Log<StoreRequest>>();
  const answered = (op: StoreRequest['op']): Log<StoreRequest> => {
    const log = logs.get(op) ?? new Log<StoreRequest>();
    logs.set(op, log);
    return log;
  };
  const answersTo = (
    requests: readonly StoreRequest[],
    answers: StoreAnswers,
  ): StoreAnswers | Promise<StoreAnswers> => {
    for (const request of requests) answered(request.op).add(request);
    if (hold === undefined || !requests.some(({ op }) => op === 'consume')) return answers;
    return hold.opened.then(() => answers);
  };
  const store: WatchedStore = {
    source: asRedis ? 'redis' : inner.source,
    calls,
    answered,
    perform(requests, call) {
      calls.add(requests);
      const answers = inner.perform(requests, call);
      return answers instanceof Promise
        ? answers.then((all) => answersTo(requests, all))
        : answersTo(requests, answers);
    },
  };
  return { ...options, store };
}

/** How a store fails. */
export type Failure = 'rejects' | 'throws' | 'never answers';

const FAILURES: Readonly<Record<Failure, Store['perform']>> = {
  rejects: async () => Promise.reject(new Error('connection lost')),
  throws() {
    throw new Error('broken');
  },
  'never answers': async () => new Promise(() => {}),
};

export function failingStore(how: Failure): Store {
  return { source: 'redis', perform: FAILURES[how] };
}
