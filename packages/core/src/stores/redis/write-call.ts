import { GIVE } from '../../program/decide.ts';
import type { Kind } from '../../program/kinds.ts';
import { compile, type Rule } from '../../policies/index.ts';
import { OPS } from '../perform.ts';
import type { Ask } from '../store.ts';
import { SCRIPTS, type Script, type ScriptName } from './lua/generated/scripts.generated.ts';
import { isLong, timesOf, type Request } from './requests.ts';

/** One call of a script: see lua/program/perform.lua. */
export interface Call {
  readonly script: Script;
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** Whether the reply contains figures, not values. */
  readonly answersFigures: boolean;
}

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

/** Writes requests as the script reads them: each policy once, and requests that differ in their keys alone as one run. */
export function writeCall(prefix: string, requests: readonly Request[]): Call {
  const [first] = requests as readonly [Request];
  if (requests.length === 1 && isUsual(first)) return writeUsual(prefix, first);
  const keys: string[] = [];
  const policies = new Map<Rule, number>();
  let kinds = '';
  let numbers = '';
  let script: ScriptName | undefined;
  let runs = '';
  let next = 0;
  while (next < requests.length) {
    const start = next;
    const request = requests[next++] as Request;
    while (next < requests.length && differInKeys(request, requests[next] as Request)) next++;
    for (const { policy } of request.asks) {
      const rule = compile(policy);
      // An edit may meet a state of any kind.
      const own = OPS[request.op] < GIVE ? FAMILY[rule.kind] : 'all';
      script = script === undefined || script === own ? own : 'all';
      if (policies.has(rule)) continue;
      policies.set(rule, policies.size + 1);
      kinds += rule.kind;
      numbers += writeNumbers(rule);
    }
    runs += writeRun(request, next - start, policies);
  }
  for (const { asks } of requests) for (const { key } of asks) keys.push(`${prefix}:${key}`);
  return {
    script: SCRIPTS[script ?? 'all'],
    keys,
    args: [kinds, `[${numbers}[${runs.slice(1)}]]`],
    answersFigures: /[gh]/.test(kinds),
  };
}

/** Whether two requests differ in their keys at most. */
function differInKeys(one: Request, other: Request): boolean {
  if (one.op !== other.op || timesOf(one) !== timesOf(other) || one.asks.length !== other.asks.length) return false;
  for (let i = 0; i < one.asks.length; i++) {
    const { policy, cost, holder, until } = one.asks[i] as Ask;
    const ask = other.asks[i] as Ask;
    if (policy !== ask.policy || cost !== ask.cost || holder !== ask.holder || until !== ask.until) return false;
  }
  return true;
}

function writeRun(request: Request, length: number, policies: ReadonlyMap<Rule, number>): string {
  const { op, asks } = request;
  const times = OPS[op] < GIVE ? timesOf(request) : (asks[0]?.until ?? 0);
  let text = `,${String(OPS[op])},${String(times)},${String(length)},${String(asks.length)}`;
  for (const { policy, cost, holder = 0 } of asks)
    text += `,${String(policies.get(compile(policy)))},${String(cost)},${String(holder)}`;
  return text;
}

const written = new WeakMap<Rule, string>();

function writeNumbers(rule: Rule): string {
  let text = written.get(rule);
  if (text === undefined) {
    text = `[${rule.numbers.join(',')}],`;
    written.set(rule, text);
  }
  return text;
}

/** Whether it takes one unit of one key, which is what most processes ask most of the time. */
function isUsual({ op, asks, others }: Request): boolean {
  const { cost, holder = 0 } = asks[0] as Ask;
  return op === 'take' && asks.length === 1 && cost === 1 && holder === 0 && others === undefined;
}

const usual = new WeakMap<Rule, readonly string[]>();

/** Its arguments are written once for each policy. */
function writeUsual(prefix: string, { asks }: Request): Call {
  const { key, policy } = asks[0] as Ask;
  const rule = compile(policy);
  let args = usual.get(rule);
  if (args === undefined) usual.set(rule, (args = [rule.kind, `[${writeNumbers(rule).slice(0, -1)}]`]));
  return { script: SCRIPTS[FAMILY[rule.kind]], keys: [`${prefix}:${key}`], args, answersFigures: isLong(rule.kind) };
}
