import { shown, StoreError } from '../../errors.ts';
import { EVENTS_KEY } from '../../events/timeline.ts';
import { compile, type Rule } from '../../policies/index.ts';
import { BLOCKED, GIVE } from '../../program/decide.ts';
import type { Kind } from '../../program/kinds.ts';
import { OPS, perform, type Held } from '../perform.ts';
import type { Ask, Figures, Op } from '../store.ts';
import { foreignKey, readText } from '../text.ts';
import type { Waiting } from './denial-cache.ts';
import { SCRIPTS, type Script, type ScriptName } from './lua/generated/scripts.generated.ts';

/**
 * The maximum work of one call, so that the server runs the next call while this process reads the replies of the last.
 * If all requests of 64 callers were one call, the two would take turns.
 */
const MAX_WORK = 32;
const MAX_COUNT = 1000;
/** The work of a request equal to another in the call, relative to that of one key. */
const EQUAL_WORK = 0.05;

const FAMILY: Readonly<Record<Kind, ScriptName>> = {
  f: 'window',
  i: 'interval',
  t: 'debt',
  l: 'debt',
  s: 'blocks',
  c: 'counter',
  g: 'slots',
  h: 'slots',
};

/** Who waits for a request. */
export type Caller = Pick<Waiting, 'resolve' | 'reject'>;

/** A request of a call, with its callers: one for each time it was made. */
interface Request {
  readonly op: Op;
  readonly asks: readonly Ask[];
  readonly callers: Caller[];
}

/** What a call sends: see lua/program/perform.lua. */
export interface Written {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** The requests of one call of a script, in order. Equal decisions are one request. */
export class Call {
  readonly #requests: Request[] = [];
  /** The last decision over each key: created when there is a second decision. */
  #byKey: Map<string, Request> | undefined;
  #work = 0;
  #prefix = '';
  /** Whether the reply contains figures instead of values, because states are long. */
  #tellsFigures = false;

  /** Adds a request, unless the call is full. */
  add(op: Op, asks: readonly Ask[], caller: Caller): boolean {
    if (this.#work >= MAX_WORK) return false;
    const equal = this.#findEqual(op, asks);
    if (equal === undefined) {
      const request = { op, asks, callers: [caller] };
      this.#requests.push(request);
      if (this.#byKey !== undefined) for (const { key } of asks) this.#byKey.set(key, request);
    } else equal.callers.push(caller);
    for (const { policy } of asks) {
      const rule = compile(policy);
      this.#work += equal === undefined || isLong(rule) ? estimateWork(rule) : EQUAL_WORK;
    }
    return true;
  }

  #findEqual(op: Op, asks: readonly Ask[]): Request | undefined {
    const last = this.#requests[this.#requests.length - 1];
    if (last === undefined) return undefined;
    // Requests between two operations stay in place, and each edit is a separate request.
    if (last.op !== op || OPS[op] >= GIVE) {
      this.#byKey = undefined;
      return undefined;
    }
    const byKey = (this.#byKey ??= new Map(last.asks.map(({ key }) => [key, last])));
    const found = byKey.get((asks[0] as Ask).key);
    if (found === undefined || found.callers.length >= MAX_COUNT || !areEqual(found.asks, asks)) return undefined;
    // It would overtake a later request for one of its keys.
    return asks.every(({ key }) => byKey.get(key) === found) ? found : undefined;
  }

  /**
   * Writes the requests as the script reads them: each policy once, and requests that differ only in their keys as one
   * run.
   *
   * @param tellsEvents - Whether the timeline is on the same node as the keys.
   */
  write(prefix: string, tellsEvents: boolean): Written {
    this.#prefix = prefix;
    const requests = this.#requests;
    const first = requests[0] as Request;
    if (requests.length === 1 && isUsual(first)) return this.#writeUsual(first);
    const keys: string[] = [];
    const policies = new Map<Rule, number>();
    const scripts = new Set<ScriptName>();
    let numbers = '';
    let runs = '';
    let next = 0;
    while (next < requests.length) {
      const start = next;
      const request = requests[next++] as Request;
      while (next < requests.length && differInKeys(request, requests[next] as Request)) next++;
      for (const { policy } of request.asks) {
        const rule = compile(policy);
        // An edit may meet a state of any kind.
        scripts.add(OPS[request.op] < GIVE ? FAMILY[rule.kind] : 'all');
        if (isLong(rule)) this.#tellsFigures = true;
        if (policies.has(rule)) continue;
        policies.set(rule, policies.size + 1);
        numbers += `${writeNumbers(rule)},`;
      }
      runs += writeRun(request, next - start, policies);
    }
    const events: string[] = [];
    for (const { asks } of requests) {
      for (const { key, event } of asks) {
        keys.push(`${prefix}:${key}`);
        if (event !== undefined && tellsEvents) events.push(...event);
      }
    }
    if (events.length > 0) {
      keys.push(`${prefix}:${EVENTS_KEY}`);
      events.unshift(''); // no instant
    }
    const kinds = Array.from(policies.keys(), ({ kind }) => kind).join('');
    const script = SCRIPTS[scripts.size === 1 ? ([...scripts][0] as ScriptName) : 'all'];
    return { script, keys, args: [kinds, `[${numbers}[${runs.slice(1)}]]`, ...events] };
  }

  /** The usual case, in a fast path: the arguments are written once for each policy. */
  #writeUsual({ asks }: Request): Written {
    const { key, policy } = asks[0] as Ask;
    const rule = compile(policy);
    let args = usual.get(rule);
    if (args === undefined) usual.set(rule, (args = [rule.kind, `[${writeNumbers(rule)}]`]));
    this.#tellsFigures = isLong(rule);
    return { script: SCRIPTS[FAMILY[rule.kind]], keys: [`${this.#prefix}:${key}`], args };
  }

  /**
   * Answers the callers: runs the program over the values that the script found, or reads the figures that it returned.
   */
  answer(reply: unknown): void {
    const lines = toText(reply)?.split('\n') ?? [];
    const atMs = /^[1-9]\d{0,15}$/.test(lines[0] ?? '') ? Number(lines[0]) : Number.NaN;
    let expected = 1;
    for (const { asks, callers } of this.#requests) expected += this.#tellsFigures ? callers.length : asks.length;
    if (!Number.isSafeInteger(atMs) || lines.length !== expected) {
      this.reject(strange(reply));
      return;
    }
    let line = 1;
    for (const request of this.#requests) {
      const { op, asks, callers } = request;
      try {
        const held = new Map<string, Held>();
        for (let i = 0; i < asks.length && !this.#tellsFigures; i++) {
          const { key } = asks[i] as Ask;
          const text = lines[line + i] as string;
          if (text !== '') held.set(key, readText(`${this.#prefix}:${key}`, text));
        }
        for (const [i, caller] of callers.entries()) {
          const told = this.#tellsFigures && readFigures(asks, lines[line + i] as string, this.#prefix);
          caller.resolve(told === false ? perform(held, op, asks, atMs) : { atMs, figures: told });
        }
      } catch (error) {
        rejectAll(request, error);
      }
      line += this.#tellsFigures ? callers.length : asks.length;
    }
  }

  reject(error: unknown): void {
    for (const request of this.#requests) rejectAll(request, error);
  }
}

function rejectAll({ callers }: Request, error: unknown): void {
  for (const caller of callers) caller.reject(error);
}

/** Whether two lists of asks are for the same keys, policies and costs, and no slots. */
export function areEqual(some: readonly Ask[], others: readonly Ask[]): boolean {
  if (some.length !== others.length) return false;
  for (let i = 0; i < some.length; i++) {
    const one = some[i] as Ask;
    const other = others[i] as Ask;
    if (one.key !== other.key || one.policy !== other.policy || one.cost !== other.cost) return false;
    if (one.holder !== undefined && one.holder > 0) return false;
  }
  return true;
}

/** Whether two requests differ at most in their keys. */
function differInKeys(one: Request, other: Request): boolean {
  if (one.op !== other.op || one.callers.length !== other.callers.length) return false;
  if (one.asks.length !== other.asks.length) return false;
  for (let i = 0; i < one.asks.length; i++) {
    const { policy, cost, holder, until } = one.asks[i] as Ask;
    const ask = other.asks[i] as Ask;
    if (policy !== ask.policy || cost !== ask.cost || holder !== ask.holder || until !== ask.until) return false;
  }
  return true;
}

/** Whether the script returns figures, because the state is long. */
function isLong({ kind }: Rule): boolean {
  return kind === 'g' || kind === 'h';
}

/** The script's time for one key, relative to that of a fixed window. */
function estimateWork(rule: Rule): number {
  if (isLong(rule)) return 1 + rule.limit / 50;
  return rule.kind === 's' ? 2 : 1;
}

/** Whether it takes one unit of one key, once. */
function isUsual({ op, asks, callers }: Request): boolean {
  const { cost, holder = 0 } = asks[0] as Ask;
  return op === 'take' && asks.length === 1 && cost === 1 && holder === 0 && callers.length === 1;
}

const usual = new WeakMap<Rule, readonly string[]>();

function writeNumbers({ numbers }: Rule): string {
  return `[${numbers.join(',')}]`;
}

function writeRun({ op, asks, callers }: Request, length: number, policies: ReadonlyMap<Rule, number>): string {
  const times = OPS[op] < GIVE ? callers.length : (asks[asks.length - 1]?.until ?? 0);
  let text = `,${String(OPS[op])},${String(times)},${String(length)},${String(asks.length)}`;
  for (const { policy, cost, holder = 0 } of asks)
    text += `,${String(policies.get(compile(policy)))},${String(cost)},${String(holder)}`;
  return text;
}

/** The line of a request: the comma-separated figures of each key, or "!" for a value that is not a state. */
function readFigures(asks: readonly Ask[], line: string, prefix: string): Figures[] {
  const parts = line.split(';');
  return asks.map(({ key }, i) => {
    if (parts[i] === '!') throw foreignKey(`${prefix}:${key}`);
    const figures = (parts[i] ?? '').split(',').map(Number);
    if (figures.length <= BLOCKED || !figures.every(Number.isSafeInteger)) throw strange(line);
    return figures;
  });
}

/** Clients may return bytes instead of strings. */
function toText(reply: unknown): string | undefined {
  if (reply instanceof Uint8Array)
    return Buffer.from(reply.buffer, reply.byteOffset, reply.byteLength).toString('latin1');
  return typeof reply === 'string' ? reply : undefined;
}

function strange(reply: unknown): StoreError {
  const expected = 'instead of lines with a time and the values of keys';
  return new StoreError('SLUICE_STORE_REPLY_INVALID', `the script returned ${shown(reply)} ${expected}`);
}
