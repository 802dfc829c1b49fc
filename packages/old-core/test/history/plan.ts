import { fixedWindow, slidingCounter, slidingLog, slidingWindow, tokenBucket, type Policy } from '@sluice/old-core';
import { seeded, type Random } from '@sluice/testkit';

/** A policy as text: by the name of the function that makes it, and its options. */
export interface PolicyText {
  readonly make: 'fixedWindow' | 'slidingCounter' | 'slidingLog' | 'slidingWindow' | 'tokenBucket';
  readonly options: Readonly<Record<string, unknown>>;
}

const MADE: Record<PolicyText['make'], (options: never) => Policy> = {
  fixedWindow,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
};

export function policyOf({ make, options }: PolicyText): Policy {
  return MADE[make](options as never);
}

/** How a process reaches the server. */
export interface ProcessPlan {
  /** With a client that the store makes of a URL, or one of its own. */
  readonly client: 'url' | 'ioredis';
  /** Through a proxy of its own, or directly. */
  readonly proxied: boolean;
}

export type Fault =
  /** The server is stopped (SIGSTOP), and continues later. */
  | { readonly what: 'stop'; readonly forMs: number }
  /** It is killed, and starts again on the same port, empty. */
  | { readonly what: 'kill'; readonly forMs: number }
  | { readonly what: 'script flush' }
  | { readonly what: 'client pause'; readonly forMs: number }
  /** The server ends all connections. */
  | { readonly what: 'client kill' }
  /** The connection of one process, where it is proxied: ended, hung, or slow and ended before the answers arrive. */
  | { readonly what: 'cut'; readonly process: number }
  | { readonly what: 'hang' | 'lose answers'; readonly process: number; readonly forMs: number }
  /** A process is killed, and another takes its place. */
  | { readonly what: 'kill process'; readonly process: number };

/** The plan of a run, made from a seed. The scheduling by the machine is not part of it. */
export interface Plan {
  readonly seed: number;
  readonly processes: readonly ProcessPlan[];
  /** Per key, its policies. */
  readonly keys: readonly (readonly PolicyText[])[];
  /** The most calls that a process sometimes makes in one turn of its event loop. Default 3. */
  readonly together?: number;
  /** How long a call waits for the server. Default 80: less than most faults last. */
  readonly timeoutMs?: number;
  readonly faults: readonly { readonly afterMs: number; readonly fault: Fault }[];
  /** After the faults the run goes on, with a script flush now and then, until so many calls are made. Default 0. */
  readonly leastCalls?: number;
}

export function planOf(seed: number, durationMs: number): Plan {
  const random = seeded(seed);
  const processes = Array.from({ length: random.integer(2, 3) }, (): ProcessPlan => ({
    client: random.pick(['url', 'ioredis']),
    proxied: random.percent(70),
  }));
  const kinds = shuffled(random, makers);
  const keys = [
    [kinds[0]?.(random, 'one') as PolicyText],
    [kinds[1]?.(random, 'one') as PolicyText],
    kinds.slice(2, 2 + random.integer(2, 3)).map((make, i) => make(random, `p${String(i)}`)),
  ];
  const faults: { afterMs: number; fault: Fault }[] = [];
  for (let atMs = 0; atMs < durationMs;) {
    const afterMs = random.integer(80, 350);
    const fault = faultOf(random, processes.length);
    faults.push({ afterMs, fault });
    atMs += afterMs + ('forMs' in fault ? fault.forMs : 0);
  }
  return { seed, processes, keys, faults };
}

/** Windows so short that a run sees many of them. */
const windowMs = (random: Random): number => random.integer(20, 90) * 10;

const makers: readonly ((random: Random, name: string) => PolicyText)[] = [
  (random, name) => ({
    make: 'fixedWindow',
    options: { name, limit: random.integer(2, 12), window: windowMs(random), align: 'first-hit' },
  }),
  (random, name) => ({
    make: 'fixedWindow',
    options: { name, limit: random.integer(2, 12), window: windowMs(random), align: 'clock' },
  }),
  (random, name) => {
    const blocks = random.pick([3, 10]);
    const precision = Math.ceil(windowMs(random) / blocks);
    return {
      make: 'slidingWindow',
      options: { name, limit: random.integer(2, 12), window: precision * blocks, precision },
    };
  },
  ...(['slidingCounter', 'slidingLog'] as const).map((make) => (random: Random, name: string): PolicyText => ({
    make,
    options: { name, limit: random.integer(2, 12), window: windowMs(random) },
  })),
  (random, name) => ({ make: 'tokenBucket', options: { name, ...bucket(random) } }),
  (random, name) => ({ make: 'tokenBucket', options: { name, ...bucket(random), mode: 'interval' } }),
  (random, name) => ({
    make: 'tokenBucket',
    options: {
      name,
      ...bucket(random),
      overdraft: random.integer(1, 8),
      mode: random.pick(['continuous', 'interval']),
    },
  }),
];

function bucket(random: Random): { capacity: number; refill: number; every: number } {
  return { capacity: random.integer(2, 12), refill: random.integer(1, 7), every: random.integer(7, 30) * 10 };
}

function faultOf(random: Random, processes: number): Fault {
  const process = random.integer(0, processes - 1);
  const forMs = random.integer(20, 300);
  return random.pick<Fault>([
    { what: 'stop', forMs },
    { what: 'stop', forMs },
    { what: 'kill', forMs },
    { what: 'script flush' },
    { what: 'client pause', forMs },
    { what: 'client kill' },
    { what: 'cut', process },
    { what: 'cut', process },
    { what: 'hang', process, forMs },
    { what: 'lose answers', process, forMs },
    { what: 'lose answers', process, forMs },
    { what: 'kill process', process },
  ]);
}

function shuffled<T>(random: Random, list: readonly T[]): T[] {
  return list
    .map((item): [number, T] => [random.integer(0, 1_000_000), item])
    .sort(([a], [b]) => a - b)
    .map(([, item]) => item);
}
