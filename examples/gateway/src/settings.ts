import { parseArgs } from 'node:util';

export interface Settings {
  readonly store: 'redis' | 'split';
  /** Undefined: a Redis of its own. */
  readonly redisUrl: string | undefined;
  /** One for each gateway: its share of the traffic, and of a split limit. */
  readonly weights: readonly number[];
  /** Requests that one address may make to one service in a window. */
  readonly limit: string;
  readonly window: string;
  /** Where nginx listens. 0: any port that is free. */
  readonly port: number;
}

const USAGE = `Usage: npm start -- [options]

  --store redis|split   count in Redis, or give each gateway its share of the limit (default redis)
  --redis URL           the Redis to use (default: one is started)
  --weights 1,1         a gateway for each, and how much of the traffic it gets
  --limit 20            requests that an address may make to a service in a window
  --window 10s          how long a window is; with split a gateway waits for the next one before it listens
  --port 8080           where nginx listens; 0 is any port that is free`;

/** @throws Error with the usage. What the limits themselves cannot be, the gateways say. */
export function readSettings(args: readonly string[]): Settings {
  const option = (text: string) => ({ type: 'string', default: text }) as const;
  const { store, redis, weights, port, ...limits } = parseArgs({
    args: [...args],
    options: {
      ...{ store: option('redis'), redis: { type: 'string' }, weights: option('1,1') },
      ...{ limit: option('20'), window: option('10s'), port: option('8080') },
    },
  }).values;
  if (store !== 'redis' && store !== 'split')
    throw new Error(`--store takes redis or split, got "${store}"\n\n${USAGE}`);
  return { store, redisUrl: redis, weights: weights.split(',').map(Number), port: Number(port), ...limits };
}
