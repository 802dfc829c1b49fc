import { fixedWindow, PolicyError, type Duration } from '@sluice/fastify';
import { parseArgs } from 'node:util';

/** An invalid option; only the message is printed. */
export class SettingError extends Error {
  override readonly name = 'SettingError';
}

export type StoreKind = 'redis' | 'split';

export interface Settings {
  readonly store: StoreKind;
  /** Undefined: a Redis of its own. */
  readonly redisUrl: string | undefined;
  /** One for each gateway: its share of the traffic, and of a split limit. */
  readonly weights: readonly number[];
  /** Requests that one address may make to one service in a window. */
  readonly limit: number;
  readonly window: string;
  /** Where nginx listens. 0: any port that is free. */
  readonly port: number;
}

export const USAGE = `Usage: npm start -- [options]

  --store redis|split   count in Redis, or give each gateway its share of the limit (default redis)
  --redis URL           the Redis to use (default: one is started)
  --weights 1,1         a gateway for each, and how much of the traffic it gets
  --limit 20            requests that an address may make to a service in a window
  --window 10s          how long a window is, at most 60s where the limit is split
  --port 8080           where nginx listens; 0 is any port that is free`;

/** A gateway listens once it has its share, so longer windows would delay the start of the example. */
const LONGEST_SPLIT_MS = 60_000;

/** @throws SettingError that names the wrong option. */
export function readSettings(args: readonly string[]): Settings {
  const { store, redis, weights, limit, window, port } = valuesOf(args);
  if (store !== 'redis' && store !== 'split') throw wrong('store', 'redis or split', store);
  return {
    store,
    redisUrl: redis === undefined ? undefined : redisUrl(redis),
    weights: weights.split(',').map((weight) => wholeNumber('weights', 1, 1000, weight)),
    limit: wholeNumber('limit', 1, 1_000_000, limit),
    window: duration(window, store),
    port: wholeNumber('port', 0, 65_535, port),
  };
}

function valuesOf(args: readonly string[]) {
  try {
    const string = (text: string) => ({ type: 'string', default: text }) as const;
    return parseArgs({
      args: [...args],
      options: {
        store: string('redis'),
        redis: { type: 'string' },
        weights: string('1,1'),
        limit: string('20'),
        window: string('10s'),
        port: string('8080'),
      },
    }).values;
  } catch (error) {
    throw new SettingError(`${(error as Error).message}\n\n${USAGE}`);
  }
}

function wholeNumber(option: string, least: number, most: number, text: string): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw wrong(option, `whole numbers from ${String(least)} to ${String(most)}`, text);
}

function duration(text: string, store: StoreKind): string {
  const windowMs = millisecondsOf(text);
  if (store === 'redis' || windowMs <= LONGEST_SPLIT_MS) return text;
  throw wrong('window', 'at most 60s with --store split, where a gateway has no share before a window begins', text);
}

function millisecondsOf(text: string): number {
  try {
    return fixedWindow({ limit: 1, window: text as Duration }).windowMs;
  } catch (error) {
    if (error instanceof PolicyError) throw wrong('window', 'a duration such as 500ms, 10s or 1m', text);
    throw error;
  }
}

function redisUrl(text: string): string {
  if (URL.canParse(text) && /^rediss?:$/.test(new URL(text).protocol)) return text;
  throw wrong('redis', 'a URL such as redis://127.0.0.1:6379', text);
}

function wrong(option: string, expected: string, got: string): SettingError {
  return new SettingError(`--${option} takes ${expected}, got ${JSON.stringify(got)}\n\n${USAGE}`);
}
