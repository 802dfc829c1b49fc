import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { forget } from '../../src/observe/live-limiters.ts';
import { measure, type Measurement } from '../../src/observe/measure.ts';
import { changeBreaker, decide, DENIAL, failStore, useLiveLimiters } from './publish.ts';

const live = useLiveLimiters();
const events: unknown[][] = [];
let measurement: Measurement;
beforeEach(() => {
  events.length = 0;
  measurement = measure((...event) => events.push(event));
});
afterEach(() => {
  measurement.stop();
});

const eventsOf = (id: string): unknown[] => events.filter(([of]) => of === id).map(([, ...event]) => event);
const gauges = (id: string): unknown[] => {
  const values: unknown[] = [];
  measurement.readGauges((of, labels, value) => of === id && values.push([labels, value]));
  return values;
};

describe('a decision', () => {
  it('is counted by limiter, policy, outcome and source, and timed', () => {
    decide(DENIAL);

    const labels = { limiter: 'api', policy: 'hourly', outcome: 'denied', source: 'memory' };
    expect(eventsOf('decisions')).toEqual([[labels, 1]]);
    expect(eventsOf('decision.duration')).toEqual([[{ limiter: 'api', source: 'memory' }, 0.25]]);
  });

  it('is not counted if it is a peek, which consumes nothing and denies no request', () => {
    decide(DENIAL, 'peek');

    expect(events).toEqual([]);
  });

  it('is near its limit if it allowed and left at most a fifth of it', () => {
    decide({ remaining: 3 });
    decide(DENIAL);
    decide({ remaining: 0, limit: 0 });
    expect(eventsOf('near_limit')).toEqual([]);

    decide({ remaining: 2 });

    expect(eventsOf('near_limit')).toEqual([[{ limiter: 'api', policy: 'hourly' }, 1]]);
  });
});

describe('a failed call of a store', () => {
  it('is counted by kind', () => {
    failStore();

    expect(eventsOf('store.errors')).toEqual([[{ limiter: 'api', store: 'redis', kind: 'timeout' }, 1]]);
  });

  it('is counted for every limiter of the store if it was a probe: an outage that lasts does not look over', () => {
    changeBreaker('closed', 'open');
    expect(eventsOf('store.errors')).toEqual([]);

    changeBreaker('half-open', 'open');

    expect(eventsOf('store.errors')).toEqual([
      [{ limiter: 'api', store: 'redis', kind: 'timeout' }, 1],
      [{ limiter: 'login', store: 'redis', kind: 'timeout' }, 1],
    ]);
  });
});

describe('the breaker', () => {
  it('is counted by its new state', () => {
    changeBreaker('open', 'half-open');

    expect(eventsOf('breaker.transitions')).toEqual([
      [{ limiter: 'api', state: 'half-open' }, 1],
      [{ limiter: 'login', state: 'half-open' }, 1],
    ]);
  });

  it('is shown as one of three states; of several stores, the one furthest from closed', () => {
    live({}, { breaker: 'half-open' });
    live({}, { breaker: 'closed' });
    live({}, { store: 'memory' });

    expect(gauges('breaker.state')).toEqual([
      [{ limiter: 'api', state: 'open' }, 0],
      [{ limiter: 'api', state: 'half-open' }, 1],
      [{ limiter: 'api', state: 'closed' }, 0],
    ]);
  });
});

describe('the fallback', () => {
  it('is active from its decision until the store decides again', () => {
    live({});
    const states = [gauges('fallback.active')];
    for (const source of ['local', 'cache', 'redis']) {
      decide({ source });
      states.push(gauges('fallback.active'));
    }

    // A denial from the cache tells nothing about the store.
    expect(states).toEqual([0, 1, 1, 0].map((value) => [[{ limiter: 'api' }, value]]));
  });

  it('is active no more when the breaker closes, before the next decision', () => {
    live({});
    decide({ source: 'none' });

    changeBreaker('half-open', 'closed');

    expect(gauges('fallback.active')).toEqual([[{ limiter: 'api' }, 0]]);
  });
});

describe('what is shown of a limiter', () => {
  it('is the limits of its policies', () => {
    const policies = [
      { name: 'hourly', limit: 2 },
      { name: 'burst', limit: 20 },
    ];
    live({ policies: () => policies });

    expect(gauges('limit')).toEqual([
      [{ limiter: 'api', policy: 'hourly' }, 2],
      [{ limiter: 'api', policy: 'burst' }, 20],
    ]);
  });

  it('is once what several of its name hold in one store, and the sum over several stores', () => {
    const store = {};
    live({ store }, { keysInMemory: 2 });
    live({ store }, { keysInMemory: 2 });
    live({}, { keysInMemory: 1 });

    expect(gauges('keys_in_memory')).toEqual([[{ limiter: 'api' }, 3]]);
  });

  it('is how many of its managed policies their source has lost', () => {
    live({}, { lostPolicies: ['orders', 'mail'] });

    expect(gauges('policies.lost')).toEqual([[{ limiter: 'api' }, 2]]);
  });

  it('is nothing once it is closed', () => {
    const limiter = live({});

    forget(limiter);

    const ids = ['limit', 'keys_in_memory', 'fallback.active', 'breaker.state'] as const;
    expect(ids.flatMap(gauges)).toEqual([]);
  });
});
