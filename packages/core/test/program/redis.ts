import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { GIVE } from '../../src/program/decide.ts';
import type { Kind } from '../../src/program/kinds.ts';
import { unused, type Nums } from '../../src/program/numbers.ts';
import { perform, type Answer, type Ask, type Held, type Plan } from './memory.ts';

const SCRIPTS = { f: 'window', i: 'interval', t: 'debt', l: 'debt', s: 'blocks', c: 'counter', g: 'slots', h: 'slots' };

export interface Request {
  readonly op: number;
  readonly asks: readonly Ask[];
}

const scripts = new Map<string, { readonly text: string; readonly sha: string }>();

function script(name: string): { readonly text: string; readonly sha: string } {
  let found = scripts.get(name);
  if (found === undefined) {
    const text = readFileSync(new URL(`../../src/stores/redis/lua/generated/${name}.lua`, import.meta.url), 'utf8');
    found = { text, sha: createHash('sha1').update(text).digest('hex') };
    scripts.set(name, found);
  }
  return found;
}

/** What a value says; undefined if it is no value of the format. */
export function held(text: string): Held | undefined {
  const [, kind, digits = ''] = /^([a-z])1((?:-?\d+(?:,-?\d+)*)?)$/.exec(text) ?? [];
  if (kind === undefined) return undefined;
  const s = digits === '' ? unused() : (digits.split(',').map(Number) as Nums);
  const blocked = s.length > 0 && s[0] < 0 ? -(s.shift() ?? 0) : 0;
  return blocked > Number.MAX_SAFE_INTEGER ? undefined : { kind: kind as Kind, s, blocked };
}

/** The requests of one call, as the program answers them; `undefined` for a request on a value that is no state. */
export async function performInRedis(
  redis: Redis,
  requests: readonly Request[],
  now?: number,
): Promise<(Answer | undefined)[]> {
  const keys: string[] = [];
  const plans = new Map<Plan, number>();
  const runs: number[][] = [];
  const times: number[] = [];
  let last: Request | undefined;
  for (const request of requests) {
    const { op, asks } = request;
    if (last !== undefined && isEqual(last, request)) {
      times[times.length - 1] = (times.at(-1) ?? 0) + 1;
      continue;
    }
    last = request;
    times.push(1);
    const shape = [op, op < GIVE ? 1 : (asks[0]?.until ?? 0), 1, asks.length];
    for (const { key, plan, cost, holder = 0 } of asks) {
      keys.push(key);
      shape.push(numberOf(plans, plan), cost, holder);
    }
    runs.push(shape);
  }
  const written: number[][] = [];
  for (const [i, run] of runs.entries()) {
    const before = written.at(-1);
    if ((run[0] ?? 0) < GIVE) run[1] = times[i] ?? 1;
    if (before !== undefined && String(before.with(2, 1)) === String(run)) before[2] = (before[2] ?? 0) + 1;
    else written.push(run);
  }
  const kinds = [...plans.keys()].map(({ kind }) => kind);
  const names = new Set(kinds.map((kind) => SCRIPTS[kind]));
  // An edit may meet a state of any kind.
  const isOfOne = names.size === 1 && requests.every(({ op }) => op < GIVE);
  const { text, sha } = script(isOfOne ? ([...names][0] ?? '') : 'all');
  const numbers = [...plans.keys()].map((plan) => plan.numbers);
  const args = [...keys, kinds.join(''), JSON.stringify([...numbers, written.flat()])];
  if (now !== undefined) args.push(String(now));
  const reply = (await redis.evalsha(sha, keys.length, ...args).catch(async (error: unknown) => {
    if (!String(error).includes('NOSCRIPT')) throw error;
    return redis.eval(text, keys.length, ...args);
  })) as string;
  const lines = reply.split('\n');
  const atMs = Number(lines[0]);
  let line = 1;
  const answers: (Answer | undefined)[] = [];
  const tellsFigures = kinds.some((kind) => kind === 'g' || kind === 'h');
  let request = 0;
  for (const count of times) {
    const { op, asks } = requests[request] as Request;
    if (tellsFigures) {
      for (let i = 0; i < count; i++) {
        const told = lines[line++] ?? '!';
        answers.push(
          told.includes('!')
            ? undefined
            : { atMs, figures: told.split(';').map((part) => part.split(',').map(Number)) },
        );
      }
    } else {
      const texts = asks.map(() => lines[line++] ?? '!');
      const shown = new Map<string, Held>();
      for (const [i, { key }] of asks.entries()) {
        const found = held(texts[i] ?? '!');
        if (found !== undefined) shown.set(key, found);
      }
      const own = {
        find: (key: string) => shown.get(key),
        keep: (key: string, kept: Held) => void shown.set(key, kept),
      };
      for (let i = 0; i < count; i++) answers.push(texts.includes('!') ? undefined : perform(own, op, asks, atMs));
    }
    request += count;
  }
  return answers;
}

function numberOf<T>(map: Map<T, number>, item: T): number {
  const number = map.get(item) ?? map.size + 1;
  map.set(item, number);
  return number;
}

function isEqual(one: Request, other: Request): boolean {
  return (
    one.op === other.op &&
    one.op < GIVE &&
    one.asks.length === other.asks.length &&
    one.asks.every(({ key, plan, cost, holder = 0 }, i) => {
      const ask = other.asks[i] as Ask;
      return key === ask.key && plan === ask.plan && cost === ask.cost && holder === 0 && (ask.holder ?? 0) === 0;
    })
  );
}
