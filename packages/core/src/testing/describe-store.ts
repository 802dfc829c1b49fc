import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { concurrency } from '../policies/concurrency.ts';
import { fixedWindow } from '../policies/fixed-window.ts';
import type { Policy } from '../policies/index.ts';
import { leakyBucket } from '../policies/leaky-bucket.ts';
import { slidingCounter } from '../policies/sliding-counter.ts';
import { slidingLog } from '../policies/sliding-log.ts';
import { slidingWindow } from '../policies/sliding-window.ts';
import { tokenBucket } from '../policies/token-bucket.ts';
import { ALLOWED, REMAINING, RESET_AFTER, USED } from '../program/decide.ts';
import { memoryStore } from '../stores/memory.ts';
import type { Answer, Ask, Op, Store } from '../stores/store.ts';
import { fakeClock, type FakeClock } from './fake-clock.ts';

/**
 * The functions of a test runner that the suite calls. The modules `node:test`, `vitest`, `@jest/globals` and
 * `bun:test` have them, and so does `globalThis` if the runner puts them there.
 */
export interface Runner {
  readonly describe: (name: string, define: () => void) => unknown;
  /** Jest, Vitest and Bun use the timeout of a test, in milliseconds; others ignore it. */
  readonly it: (name: string, run: () => Promise<void>, timeoutMs?: number) => unknown;
}

/** Opens the store under test. A store with its own clock ignores `clock`. */
export type OpenStore = (clock: FakeClock) => Store | Promise<Store>;

/** Policies that take turns on the same keys. Short windows end during the test, whatever the clock. */
const POLICIES: Readonly<Record<string, readonly Policy[]>> = {
  fixedWindow: [
    fixedWindow({ limit: 5, window: '9ms' }),
    fixedWindow({ limit: 8, window: '1m', align: 'clock' }),
    fixedWindow({ limit: 2, window: '2s', blockFor: '15ms' }),
    fixedWindow({ limit: 0, window: '1m' }),
  ],
  slidingWindow: [
    slidingWindow({ limit: 5, window: '20ms' }),
    slidingWindow({ limit: 9, window: '10s', precision: '2s', blockFor: '20s' }),
  ],
  slidingCounter: [slidingCounter({ limit: 5, window: '15ms' }), slidingCounter({ limit: 9, window: '7s' })],
  slidingLog: [slidingLog({ limit: 5, window: '12ms' }), slidingLog({ limit: 9, window: '7s' })],
  tokenBucket: [
    tokenBucket({ capacity: 5, refill: 3, every: '7ms' }),
    tokenBucket({ capacity: 9, refill: 2, every: '3s', overdraft: 4 }),
  ],
  'tokenBucket at intervals': [
    tokenBucket({ capacity: 5, refill: 3, every: '7ms', mode: 'interval' }),
    tokenBucket({ capacity: 9, refill: 2, every: '3s', mode: 'interval' }),
  ],
  leakyBucket: [
    leakyBucket({ limit: 3, window: '20ms', maxDelay: '12ms' }),
    leakyBucket({ limit: 3, window: '5s', maxDelay: '4s' }),
  ],
  concurrency: [concurrency({ limit: 2, ttl: '15ms' }), concurrency({ limit: 4, ttl: '5s' })],
};

const SUBJECTS = ['a', 'b', 'c', 'd'] as const;
/** A database may treat some of these as equal. */
const ODD_SUBJECTS = 'Ann,ann,ann , ann,a_n,a%n,a*n,a\'n,a"n,a\\n,a\nn,a\0n,a\0m,a\\0n,ä,a\u0308,日'
  .split(',')
  .concat('x'.repeat(256), `${'x'.repeat(255)}y`);
const STEPS = 250;
const AT_ONCE = 60;
const MAX_TEST_MS = 60_000;

/**
 * Defines about 16 tests of a store's contract: every operation and policy is decided as in a memory store at the same
 * time; all or nothing over several keys; exact under concurrent requests; different keys stay different. It asserts
 * with `node:assert`, and closes the store at the end.
 *
 * @param name - The name of the store, which appears in the names of the tests.
 * @param runner - The module of the test runner: `node:test`, `vitest`, `@jest/globals`, `bun:test`. Default: the
 * global functions, which Jest and Mocha have.
 * @throws TypeError without a runner.
 *
 * @example
 * ```ts
 * import * as runner from 'node:test';
 *
 * describeStore('in SQLite', () => sqliteStore(database), runner);
 * ```
 */
export function describeStore(
  name: string,
  open: OpenStore,
  runner: Partial<Runner> = globalThis as Partial<Runner>,
): void {
  const { describe, it } = checkRunner(runner);
  const clock = fakeClock();
  let opened: Promise<Store> | undefined;
  const openOnce = (): Promise<Store> => (opened ??= Promise.resolve(open(clock)));
  /** Keys of earlier runs may still exist. */
  const run = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2)}`;
  const test = (title: string, body: (store: Store, limiter: string) => Promise<void>): void => {
    const limiter = `${run}.${title.replace(/\W+/g, '-')}`;
    it(title, async () => body(await openOnce(), limiter), MAX_TEST_MS);
  };

  describe(`the store ${name}`, () => {
    const all = Object.values(POLICIES).flat();
    for (const [kind, policies] of Object.entries({ ...POLICIES, 'policies of several kinds': all })) {
      test(`decides as the memory does: ${kind}`, (store, limiter) => compare(store, clock, limiter, policies));
    }
    test('decides over several keys at once, all or nothing', takeSeveralAtOnce);
    test('counts each of many charges at once', chargeAtOnce);
    test('tells keys apart that look alike', tellApart);
    test('counts large numbers exactly', countExactly);
    test('keeps the thousand entries of a log', keepLongStates);
    it('closes, also twice', async () => {
      const store = await openOnce();
      await store.close?.();
      await store.close?.();
    });
  });
}

function checkRunner(runner: Partial<Runner>): Runner {
  const missing = (['describe', 'it'] as const).find((name) => typeof runner[name] !== 'function');
  if (missing === undefined) return runner as Runner;
  throw new TypeError(
    `describeStore needs a test runner with describe and it, got none with ${missing}: ` +
      "pass its module as the last argument, such as `import * as runner from 'node:test'` (or 'vitest'); without one it takes the global functions of Jest or Mocha",
  );
}

function ask(subject: string, limiter: string, policy: Policy, cost = 1): Ask {
  return { key: `{${subject}}:${limiter}`, policy, cost, uncached: true };
}

/** Makes random requests, and expects the memory store's answers at the same instants. */
async function compare(store: Store, clock: FakeClock, limiter: string, policies: readonly Policy[]): Promise<void> {
  const random = makeRandom(limiter.length * 1_000 + policies.length);
  const sameClock = fakeClock();
  const memory = memoryStore({ clock: sameClock });
  /** When the units last taken from each key expire. */
  const ends = new Map<string, number>();
  for (let step = 0; step < STEPS; step++) {
    const op = pickOp(random);
    const subjects = SUBJECTS.filter(() => random(3) === 0);
    const asks = (subjects.length === 0 ? SUBJECTS.slice(0, 1) : subjects).map((subject) =>
      askAtRandom(op, ask(subject, limiter, policies[random(policies.length)] as Policy), ends, random),
    );
    const answer = await store.perform(op, asks);
    assert.ok(Number.isSafeInteger(answer.atMs), `atMs must be whole milliseconds, got ${String(answer.atMs)}`);
    sameClock.atMs = answer.atMs;
    const expected = memory.perform(op, asks);
    assert.deepEqual(answer.figures, expected.figures, `step ${String(step)}: ${op} ${JSON.stringify(asks)}`);
    for (const [i, { key }] of asks.entries()) ends.set(key, answer.atMs + (expected.figures[i]?.[RESET_AFTER] ?? 0));
    clock.advance(random(8) === 0 ? random(3_000) : random(5));
    if (step % 10 === 0) await sleep(1 + random(5));
  }
}

type Random = (below: number) => number;

/** The same numbers for the same seed. */
function makeRandom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below); // by its high bits: the low ones repeat soon
  };
}

function pickOp(random: Random): Op {
  const ops: readonly Op[] = ['peek', 'peek', 'try', 'give', 'give', 'charge', 'reset', 'block', 'renew'];
  return random(2) === 0 ? 'take' : (ops[random(ops.length)] as Op);
}

function askAtRandom(op: Op, { key, policy }: Ask, ends: ReadonlyMap<string, number>, random: Random): Ask {
  const asked = { key, policy, uncached: true, cost: random(3) === 0 ? random(10) : 1 };
  if (op === 'block') return { ...asked, cost: random(2), until: random(3) === 0 ? 0 : random(40) };
  // A holder takes, keeps and gives back a slot.
  if (policy.algorithm === 'concurrency') return { ...asked, holder: 1 + random(3), cost: op === 'charge' ? 0 : 1 };
  const isOfDecision = (op === 'give' || op === 'charge') && random(2) === 0;
  return isOfDecision ? { ...asked, until: ends.get(key) ?? 0 } : asked;
}

function countAllowed(answers: readonly Answer[]): number {
  return answers.filter(({ figures }) => figures.every((told) => told[ALLOWED] === 1)).length;
}

async function performAtOnce(store: Store, op: Op, asks: readonly Ask[]): Promise<Answer[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, async () => store.perform(op, asks)));
}

async function readUsed(store: Store, { key, policy }: Ask): Promise<number | undefined> {
  const { figures } = await store.perform('peek', [{ key, policy, cost: 0, uncached: true }]);
  return figures[0]?.[USED];
}

async function takeSeveralAtOnce(store: Store, limiter: string): Promise<void> {
  const wide = ask('a', `${limiter}:wide`, slidingLog({ limit: 40, window: '1d' }));
  const narrow = ask('a', `${limiter}:narrow`, fixedWindow({ limit: 7, window: '1d' }));
  const other = ask('b', limiter, tokenBucket({ capacity: 50, refill: 1, every: '1d' }));

  const answers = [...(await performAtOnce(store, 'take', [wide, narrow, other]))];

  assert.equal(countAllowed(answers), 7);
  assert.deepEqual(
    [await readUsed(store, wide), await readUsed(store, narrow), await readUsed(store, other)],
    [7, 7, 7],
  );
}

async function chargeAtOnce(store: Store, limiter: string): Promise<void> {
  const charged = ask('a', limiter, fixedWindow({ limit: 5, window: '1d' }), 2);

  await performAtOnce(store, 'charge', [charged]);

  assert.equal(await readUsed(store, charged), 2 * AT_ONCE);
}

async function tellApart(store: Store, limiter: string): Promise<void> {
  const asks = ODD_SUBJECTS.map((subject, i) => ask(subject, limiter, fixedWindow({ limit: 99, window: '1d' }), i + 1));
  for (const taken of asks) await store.perform('take', [taken]);

  const { figures } = await store.perform('peek', asks);

  assert.deepEqual(
    figures.map((told) => told[USED]),
    ODD_SUBJECTS.map((_, i) => i + 1),
  );
}

async function countExactly(store: Store, limiter: string): Promise<void> {
  const limit = 999_999_999_999_999;
  const policy = fixedWindow({ limit, window: '1d' });

  await store.perform('take', [ask('a', limiter, policy, limit - 1)]);
  const { figures } = await store.perform('take', [ask('a', limiter, policy)]);

  assert.deepEqual([figures[0]?.[ALLOWED], figures[0]?.[REMAINING], figures[0]?.[USED]], [1, 0, limit]);
}

async function keepLongStates(store: Store, limiter: string): Promise<void> {
  const policy = concurrency({ limit: 1_000, ttl: '1d' });
  const take = async (holder: number) => store.perform('take', [{ ...ask('a', limiter, policy), holder }]);
  for (let first = 2 ** 50; first < 2 ** 50 + 1_000; first += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, i) => take(first + i)));
  }

  const { figures } = await take(7);

  assert.deepEqual([figures[0]?.[ALLOWED], figures[0]?.[USED]], [0, 1_000]);
}
