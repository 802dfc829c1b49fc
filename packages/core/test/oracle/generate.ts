import { memoryStore, type Duration } from '@sluice/core';
import { fakeClock, seeded, type FakeClock, type Random } from '@sluice/testkit';
import { Player } from './player.ts';
import type { Figures, Op, PolicyText, Step, Trace } from './read-traces.ts';

/** The kinds of states, by the tag of their traces. */
const KINDS = {
  fixedWindow: (random: Random, size: Size) => ({
    kind: 'fixedWindow',
    ...limitAndWindow(random, size),
    ...maybe(random, { align: 'first-hit' }),
  }),
  fixedWindowClock: (random: Random, size: Size) => ({
    kind: 'fixedWindow',
    ...limitAndWindow(random, size),
    align: 'clock',
  }),
  slidingWindow(random: Random, size: Size) {
    const { limit, window } = limitAndWindow(random, size);
    const blocks = ([1, 2, 3, 5, 10, 20, 60, 100] as const).filter((count) => msOf(window) % count === 0);
    const precision = written(msOf(window) / random.pick(blocks as unknown as [number, ...number[]]));
    return { kind: 'slidingWindow', limit, window, ...maybe(random, { precision }) };
  },
  slidingCounter: (random: Random, size: Size) => ({
    kind: 'slidingCounter',
    ...limitAndWindow(random, size, 1_000_000),
  }),
  slidingLog: (random: Random, size: Size) => ({ kind: 'slidingLog', ...limitAndWindow(random, size, 300) }),
  tokenBucket: (random: Random, size: Size) => ({
    kind: 'tokenBucket',
    ...bucket(random, size),
    ...maybe(random, { mode: 'continuous' }),
  }),
  intervalBucket: (random: Random, size: Size) => ({ kind: 'tokenBucket', ...bucket(random, size), mode: 'interval' }),
  leakyBucket(random: Random, size: Size) {
    const { limit, window } = limitAndWindow(random, size === 'zero' ? 'odd' : size, 1_000_000);
    const unitMs = Math.ceil(msOf(window) / limit);
    const maxDelay = random.pick([0, unitMs, 3 * unitMs + 1, msOf(window), 2 * msOf(window) - 1]);
    return { kind: 'leakyBucket', limit, window, maxDelay: maxDelay === 0 ? 0 : written(maxDelay) };
  },
  concurrency(random: Random, size: Size) {
    const { limit } = limitAndWindow(random, size, 100);
    // In this process a timer of the same length ends an acquisition. No trace takes that long.
    return { kind: 'concurrency', limit, ttl: random.pick<Duration>(['30s', '77s', '5m', '1h']) };
  },
};
type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as [Kind, ...Kind[]];
const counting = kinds.filter((kind) => kind !== 'concurrency') as [Kind, ...Kind[]];

const SIZES = ['usual', 'usual', 'odd', 'odd', 'odd', 'tiny', 'large', 'zero'] as const;
type Size = (typeof SIZES)[number];

function limitAndWindow(random: Random, size: Size, most = 1_000_000_000): { limit: number; window: Duration } {
  switch (size) {
    case 'zero':
      return { limit: 0, window: random.pick(['1s', '7s', '1m']) };
    case 'tiny':
      return { limit: random.integer(1, 2), window: random.pick(['1ms', '2ms', '7ms', '50ms', '1s']) };
    case 'odd':
      return random.pick<{ limit: number; window: Duration }>([
        { limit: 3, window: '7s' },
        { limit: 7, window: '10s' },
        { limit: 1, window: '3s' },
        { limit: 11, window: '333ms' },
        { limit: 13, window: '1m' },
        { limit: random.integer(2, 30), window: written(random.integer(100, 100_000)) },
      ]);
    case 'usual':
      return { limit: random.pick([2, 5, 10, 20, 60]), window: random.pick(['1s', '10s', '1m', '5m', '1h']) };
    case 'large':
      return {
        limit: Math.min(random.pick([100, 1_000, 99_991, 1_000_000, 1_000_000_000]), most),
        window: random.pick(['1m', '1h', '1d', '30d']),
      };
  }
}

function bucket(random: Random, size: Size): Record<string, unknown> {
  const { limit, window } = limitAndWindow(random, size === 'zero' ? 'odd' : size, 1_000_000);
  const refill = random.pick([limit, 1, random.integer(1, limit), limit + random.integer(1, 5)]);
  return {
    capacity: limit,
    refill,
    every: window,
    ...maybe(random, { overdraft: random.integer(1, 2 * Math.min(limit, 1_000)) }),
  };
}

const maybe = <Options extends object>(random: Random, options: Options): Partial<Options> =>
  random.percent(50) ? options : {};

const UNITS = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

function written(ms: number): Duration {
  const [unit, length] = Object.entries(UNITS).find(([, each]) => ms % each === 0) as [keyof typeof UNITS, number];
  return `${String(ms / length) as `${number}`}${unit}`;
}

function msOf(duration: Duration): number {
  const [, count, unit] = /^(\d+)(\D+)$/.exec(String(duration)) as unknown as [string, string, keyof typeof UNITS];
  return Number(count) * UNITS[unit];
}

/** What a trace is about: one of these, by its seed. */
const THEMES = [
  ...Array<'plain'>(36).fill('plain'),
  ...Array<'several'>(15).fill('several'),
  ...Array<'list'>(8).fill('list'),
  ...Array<'clock-back'>(13).fill('clock-back'),
  ...Array<'clock-ahead'>(12).fill('clock-ahead'),
  ...Array<'numbers-change'>(16).fill('numbers-change'),
  ...Array<'kind-change'>(4).fill('kind-change'),
  ...Array<'slots'>(6).fill('slots'),
] as const;
type Theme = (typeof THEMES)[number];

/** A day in the year 2100: no key of Redis expires while a trace is played. */
const START_MS = 4_102_444_800_000;
/** No step is longer, so that instants stay whole numbers. */
const LONGEST_STEP_MS = 100_000_000_000;

/** The trace of a seed, with the answers of this core in memory. */
export async function generateTrace(seed: number): Promise<Trace> {
  const random = seeded(seed);
  const theme: Theme = random.pick(THEMES as unknown as [Theme, ...Theme[]]);
  const { shape, sorts } = shapeOf(random, theme);
  const clock = fakeClock(START_MS + random.integer(0, UNITS.d));
  const walk = new Walk({ random, theme, shape, sorts, clock });
  const steps = await walk.run(random.integer(15, random.pick([25, 30, 40, 60])));
  const { form, policies, changes } = shape;
  return { seed, tags: tagsOf(theme, shape, sorts, steps), form, policies, ...(changes && { changes }), steps };
}

type Shape = Pick<Trace, 'form' | 'policies' | 'changes'>;
/** The kind and size of each policy. */
type Sort = readonly [kind: Kind, size: Size];

function shapeOf(random: Random, theme: Theme): { shape: Shape; sorts: readonly Sort[] } {
  const several =
    theme === 'several' || theme === 'list' || (theme !== 'plain' && random.percent(theme === 'kind-change' ? 0 : 20));
  const count = several ? random.integer(2, 4) : 1;
  const sorts = Array.from({ length: count }, (_, i): Sort => {
    const isHeld = theme === 'slots' ? i === 0 : theme === 'numbers-change' && random.percent(10);
    return [isHeld ? 'concurrency' : random.pick(counting), random.pick(SIZES)];
  });
  const changes =
    theme === 'kind-change'
      ? 'managed'
      : theme !== 'numbers-change'
        ? undefined
        : random.pick(['managed', 'release'] as const);
  const form = !several
    ? 'one'
    : theme === 'list' || (theme !== 'several' && changes !== 'managed' && random.percent(30))
      ? 'list'
      : 'limits';
  const policies = sorts.map(([kind, size], i): PolicyText => ({
    ...KINDS[kind](random, size),
    ...(several && { name: ['per-ip', 'per-user', 'per-route', 'per-org'][i] as string }),
  }));
  return { shape: { form, policies, ...(changes && { changes }) }, sorts };
}

interface WalkPlan {
  readonly random: Random;
  readonly theme: Theme;
  readonly shape: Shape;
  readonly sorts: readonly Sort[];
  readonly clock: FakeClock;
}

type Call = Omit<Step, 'atMs' | 'figures' | 'held'>;

/** Chooses each step by the answers to those before. */
class Walk {
  readonly #plan: WalkPlan;
  readonly #player: Player;
  readonly #steps: Step[] = [];
  /** Steps that come next, at their instants. */
  #ahead: { readonly atMs: number; readonly call: Call }[] = [];
  /** How often settling, editing and peeking happen in this trace, in percent. */
  readonly #shares: { readonly settle: number; readonly edit: number; readonly peek: number };
  readonly #keys: readonly string[];
  /** Where the clock has to go back to, after so many steps ahead. */
  #back: { atMs: number; after: number } | undefined;

  constructor(plan: WalkPlan) {
    this.#plan = plan;
    this.#player = new Player(plan.shape, memoryStore({ clock: plan.clock }), plan.clock);
    const { random } = plan;
    this.#shares = { settle: random.pick([0, 10, 30]), edit: random.pick([0, 0, 8, 15]), peek: random.pick([10, 25]) };
    this.#keys = random.percent(70) ? ['ann'] : ['ann', 'bob'];
  }

  async run(count: number): Promise<readonly Step[]> {
    while (this.#steps.length < count) {
      const next = this.#ahead.shift();
      const atMs = next?.atMs ?? this.#nextInstant();
      const step = await this.#player.play({ atMs, ...(next?.call ?? this.#nextCall()) });
      this.#steps.push(step);
      if (this.#ahead.length === 0) this.#ahead = this.#probes(step);
    }
    await this.#player.close();
    return this.#steps;
  }

  #lastFigures(): Step | undefined {
    return this.#steps.findLast(({ figures }) => figures !== undefined);
  }

  /** Looks at the edges of an answer, a millisecond before and at them; and at what an edit has left. */
  #probes({ atMs, op, key, cost: asked = 1, of, figures }: Step): { atMs: number; call: Call }[] {
    const { random, theme } = this.#plan;
    const take: Op = this.#holdsSlots() ? 'acquire' : 'consume';
    if (figures === undefined) {
      const about = key ?? this.#steps[of ?? -1]?.key ?? this.#anyKey();
      return op === 'renew' || !random.percent(60)
        ? []
        : [{ atMs, call: { op: 'peek', key: about, cost: random.integer(0, 1) } }];
    }
    const about = key as string;
    const cost = take === 'acquire' ? Math.max(asked, 1) : asked;
    const { retryAfterMs, resetAfterMs } = figures;
    const isAhead = theme === 'clock-ahead' && this.#back !== undefined;
    if (isAhead) return [];
    if (retryAfterMs !== null && retryAfterMs > 0 && retryAfterMs < LONGEST_STEP_MS && random.percent(35)) {
      return [
        ...(random.percent(60)
          ? [{ atMs: atMs + retryAfterMs - 1, call: { op: random.pick([take, 'peek'] as const), key: about, cost } }]
          : []),
        { atMs: atMs + retryAfterMs, call: { op: take, key: about, cost } },
      ];
    }
    if (resetAfterMs > 0 && resetAfterMs < LONGEST_STEP_MS && random.percent(5)) {
      return [-1, 0].map((edge) => ({
        atMs: atMs + resetAfterMs + edge,
        call: { op: 'peek', key: about, cost: random.pick([0, 1]) },
      }));
    }
    return op === 'peek' && cost > 0 && random.percent(40) ? [{ atMs, call: { op: take, key: about, cost } }] : [];
  }

  #nextInstant(): number {
    const { random, theme, clock } = this.#plan;
    const nowMs = clock.atMs;
    const windowMs = this.#windowMs();
    if (this.#back !== undefined) {
      if (this.#back.after-- > 0) return nowMs + random.integer(0, windowMs);
      const { atMs } = this.#back;
      this.#back = undefined;
      return atMs + random.integer(0, random.pick([3, windowMs]));
    }
    if (theme === 'clock-ahead' && random.percent(10)) {
      this.#back = { atMs: nowMs, after: random.integer(0, 3) };
      return nowMs + random.pick([1, 2, 10, 50]) * windowMs + random.integer(0, windowMs);
    }
    if (theme === 'clock-back' && random.percent(20))
      return nowMs - random.integer(1, random.pick([3, windowMs, 3 * windowMs]));
    return nowMs + Math.min(Math.max(this.#aheadMs(), 0), LONGEST_STEP_MS);
  }

  /** The same instant, an edge of what was last seen, or any. */
  #aheadMs(): number {
    const { random, clock } = this.#plan;
    const windowMs = this.#windowMs();
    const last = this.#lastFigures();
    const { retryAfterMs = 0, resetAfterMs = 0, delayMs = 0, limit = 1, policies = [] } = last?.figures ?? {};
    const since = (afterMs: number | null): number => (last?.atMs ?? clock.atMs) + (afterMs ?? 0) - clock.atMs;
    const [policy] = policies;
    const edge = random.pick([-1, 0, 0, 1]);
    return random.pick<() => number>([
      () => 0,
      () => 0,
      () => 0,
      () => 0,
      () => random.integer(1, 3),
      () => random.integer(1, Math.max(Math.ceil(windowMs / Math.max(Math.min(limit, 1_000), 1)), 1)),
      () => random.integer(1, Math.ceil(windowMs / 3)),
      () => random.integer(1, windowMs),
      () => since(retryAfterMs) + edge,
      () => since(policy?.nextAfterMs ?? 0) + edge,
      () => since(policy?.resetAfterMs ?? 0) + edge,
      () => since(resetAfterMs) + edge,
      () => since(delayMs) + edge,
      () => windowMs - (clock.atMs % windowMs) + edge,
      () => windowMs + random.integer(0, windowMs),
    ])();
  }

  #windowMs(): number {
    const { random, shape } = this.#plan;
    const windows = shape.policies.map(({ window, every, ttl }) => msOf((window ?? every ?? ttl) as Duration));
    return random.pick(windows as [number, ...number[]]);
  }

  #nextCall(): Call {
    const { random, shape } = this.#plan;
    const [isSlots, key] = [this.#holdsSlots(), this.#anyKey()];
    const takes = (ops: readonly Op[]): number[] =>
      this.#steps.flatMap(({ op, figures }, i) => (figures?.allowed === true && ops.includes(op) ? [i] : []));
    const lately = (list: readonly number[]): number =>
      list[random.integer(Math.max(list.length - 4, 0), list.length - 1)] as number;
    if (shape.changes !== undefined && random.percent(14)) return { op: 'change', policy: this.#otherPolicy() };
    if (isSlots) {
      const held = takes(['acquire']);
      if (held.length > 0 && random.percent(35))
        return { op: random.pick(['release', 'release', 'renew']), of: lately(held) };
    } else if (random.percent(this.#shares.settle)) {
      const [reserved, consumed] = [takes(['reserve']), takes(['consume'])];
      const reserve: Call = { op: 'reserve', key, cost: Math.max(this.#cost(), 1) };
      const call = random.pick<() => Call | undefined>([
        () => reserve,
        () => (reserved.length === 0 ? reserve : { op: 'settle', of: lately(reserved), cost: this.#units() - 1 }),
        () => (reserved.length === 0 ? reserve : { op: 'settle', of: lately(reserved), cost: this.#units() }),
        () => (reserved.length === 0 ? reserve : { op: 'cancel', of: lately(reserved) }),
        () => {
          if (consumed.length === 0) return undefined;
          const of = lately(consumed);
          const most = this.#steps[of]?.figures?.cost ?? 0;
          return { op: 'refund', of, ...(random.percent(50) && { cost: random.integer(0, Math.min(most, 10)) }) };
        },
        () => ({ op: 'refund', key, cost: this.#units() }),
        () => ({ op: 'charge', key, cost: this.#units() }),
      ])();
      if (call !== undefined) return call;
    }
    if (random.percent(this.#shares.edit)) {
      const duration = written(random.pick([1, random.integer(1, 5_000), this.#windowMs(), 2 * this.#windowMs() + 1]));
      return random.pick<Call>([
        { op: 'reset', key },
        { op: 'block', key, duration, ...(random.percent(30) && { reset: true }) },
        { op: 'block', key, duration },
        { op: 'unblock', key },
      ]);
    }
    if (random.percent(this.#shares.peek)) return { op: 'peek', key, cost: this.#cost() };
    return isSlots
      ? { op: 'acquire', key, cost: random.pick([1, 1, 1, 2]) }
      : { op: 'consume', key, cost: this.#cost() };
  }

  /** New numbers for one of the policies, of its kind or, where kinds change, of any. */
  #otherPolicy(): PolicyText {
    const { random, theme, shape, sorts } = this.#plan;
    const i = random.integer(0, sorts.length - 1);
    const [kind, size] = sorts[i] as Sort;
    const to =
      theme === 'kind-change'
        ? random.pick(counting)
        : kind === 'fixedWindow' && random.percent(20)
          ? 'fixedWindowClock'
          : kind;
    const { name } = shape.policies[i] as PolicyText;
    const options = KINDS[to](random, random.percent(50) ? size : random.pick(SIZES));
    return { ...options, ...(name !== undefined && { name }) };
  }

  #holdsSlots(): boolean {
    return this.#plan.sorts.some(([kind]) => kind === 'concurrency');
  }

  /** A key; under `limits` one for each of them or, sometimes, for some. */
  #anyKey(): string | Record<string, string> {
    const { random, shape, sorts } = this.#plan;
    const any = (): string => this.#keys[random.integer(0, this.#keys.length - 1)] as string;
    if (shape.form !== 'limits') return any();
    const names = shape.policies.map(({ name }) => name as string);
    // An acquisition has a limit that holds slots.
    const some = random.percent(75)
      ? names
      : names.filter((_, i) => sorts[i]?.[0] === 'concurrency' || random.percent(50));
    return Object.fromEntries((some.length === 0 ? names.slice(0, 1) : some).map((name) => [name, any()]));
  }

  /** Units to ask for: mostly few, and around what is left and the limit. */
  #cost(): number {
    const { random } = this.#plan;
    const { limit = 3, remaining = 3 } = this.#lastFigures()?.figures ?? ({} as Partial<Figures>);
    if (random.percent(1)) return Number.MAX_SAFE_INTEGER;
    return random.pick([
      0,
      1,
      1,
      1,
      1,
      1,
      1,
      2,
      3,
      Math.ceil(limit / 3),
      Math.ceil(limit / 2),
      limit,
      limit + 1,
      remaining,
      remaining,
      remaining + 1,
    ]);
  }

  /** Units that were used or are given back, at least one. */
  #units(): number {
    const { random } = this.#plan;
    const { limit = 3 } = this.#lastFigures()?.figures ?? ({} as Partial<Figures>);
    return random.pick([1, 1, 2, random.integer(1, 5), Math.ceil(limit / 2) + 1, limit + 1, 3 * limit + 1]);
  }
}

/** What is in a trace: kinds, sizes, form, operations, and how the clock goes. */
function tagsOf(
  theme: Theme,
  { form, policies, changes }: Shape,
  sorts: readonly Sort[],
  steps: readonly Step[],
): string[] {
  const ops = new Set(steps.map(({ op }) => op));
  const has = (...names: readonly Op[]): boolean => names.some((op) => ops.has(op));
  const options = [...policies, ...steps.flatMap(({ policy }) => policy ?? [])];
  const backs = steps.some(({ atMs }, i) => atMs < (steps[i - 1]?.atMs ?? 0));
  const tags: [tag: string, is: boolean][] = [
    ['several', form !== 'one'],
    ['list', form === 'list'],
    [
      'keys-left-out',
      form === 'limits' && steps.some(({ key }) => key !== undefined && Object.keys(key).length < policies.length),
    ],
    ['clock-back', backs && theme !== 'clock-ahead'],
    ['clock-ahead', backs && theme === 'clock-ahead'],
    ['numbers-change', has('change') && theme === 'numbers-change'],
    ['kind-change', has('change') && theme === 'kind-change'],
    ['managed', changes === 'managed'],
    ['release', changes === 'release'],
    ['slots', has('acquire')],
    ['slot-cost', steps.some(({ op, cost = 1 }) => op === 'acquire' && cost > 1)],
    ['reserve', has('reserve')],
    ['refund', has('refund')],
    ['charge', has('charge')],
    ['reset', has('reset')],
    ['blocks', has('block')],
    ['overdraft', options.some(({ overdraft }) => overdraft !== undefined)],
    ['limit-0', options.some(({ limit }) => limit === 0)],
    ['cost-above-limit', steps.some(({ figures }) => figures !== undefined && figures.cost > figures.limit)],
  ];
  const of = new Set(
    [...sorts.map(([kind]) => kind), ...sorts.map(([, size]) => size)].filter((tag) => tag !== 'zero'),
  );
  return [...of, ...tags.flatMap(([tag, is]) => (is ? [tag] : []))];
}
