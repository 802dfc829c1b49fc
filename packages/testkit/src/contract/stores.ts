import type { Answer, Ask, OnStoreError, Op, Store } from '@sluice/core';
import type { Gate } from '../gate.ts';
import { Log } from './log.ts';

/** A store as if over a network: decides when asked, and answers in a later turn of the event loop. */
export function answeringLater(inner: Store): Store {
  return {
    source: 'later',
    async perform(op, asks) {
      const answer = inner.perform(op, asks);
      await new Promise(setImmediate);
      return answer;
    },
  };
}

/** A store that a scenario observes. */
export interface WatchedStore extends Store {
  /** The operations of this kind that it has performed, except for slots, which holders give back. */
  performed(op: Op | 'release'): Log<Ask>;
}

/** @param hold - If given, takes are decided at once, and answered when this gate opens. */
export function watched(inner: Store, hold?: Gate): WatchedStore {
  const logs = new Map<string, Log<Ask>>();
  const performed = (op: string): Log<Ask> => {
    const log = logs.get(op) ?? new Log<Ask>();
    logs.set(op, log);
    return log;
  };
  return {
    source: hold === undefined ? inner.source : 'later',
    performed,
    perform(op, asks) {
      const tell = (answer: Answer): Answer | Promise<Answer> => {
        for (const ask of asks)
          performed(op === 'give' && ask.policy.algorithm === 'concurrency' ? 'release' : op).add(ask);
        return op === 'take' && hold !== undefined ? hold.opened.then(() => answer) : answer;
      };
      const answer = inner.perform(op, asks);
      return answer instanceof Promise ? answer.then(tell) : tell(answer);
    },
  };
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

export function failing(how: Failure): Store {
  return { source: 'later', perform: FAILURES[how] };
}

/** The outcome of two requests under a limit of one if its store fails. */
export const OUTCOMES: readonly (readonly [OnStoreError, readonly [number, number]])[] = [
  ['local', [200, 429]],
  ['allow', [200, 200]],
  ['deny', [503, 503]],
  ['throw', [500, 500]],
];
