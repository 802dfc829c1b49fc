import { GIVE } from '../../program/decide.ts';
import type { Kind } from '../../program/kinds.ts';
import type { Rule } from '../../policies/index.ts';
import { OPS } from '../perform.ts';
import type { Ask } from '../store.ts';
import { SCRIPTS, type Script, type ScriptName } from './lua/generated/scripts.generated.ts';
import { isLong, type Request } from './requests.ts';

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
  const keys: string[] = [];
  const policies = new Map<Rule, number>();
  let kinds = '';
  let numbers = '';
  let script: ScriptName | undefined;
  let runs = '';
  let last: Request | undefined;
  let length = 0;
  const end = (): void => {
    if (last !== undefined) runs += writeRun(last, length, policies);
  };
  for (const request of requests) {
    for (const { key } of request.asks) keys.push(`${prefix}:${key}`);
    if (last !== undefined && differInKeys(last, request)) {
      length++;
      continue;
    }
    end();
    last = request;
    length = 1;
    for (const rule of request.rules) {
      // An edit may meet a state of any kind.
      const own = OPS[request.op] < GIVE ? FAMILY[rule.kind] : 'all';
      script = script === undefined || script === own ? own : 'all';
      if (policies.has(rule)) continue;
      policies.set(rule, policies.size + 1);
      kinds += rule.kind;
      numbers += writeNumbers(rule);
    }
  }
  end();
  return {
    script: SCRIPTS[script ?? 'all'],
    keys,
    args: [kinds, `[${String(policies.size)}${numbers}${runs}]`],
    answersFigures: [...kinds].some((kind) => isLong(kind as Kind)),
  };
}

/** Whether two requests differ in their keys at most. */
function differInKeys(one: Request, other: Request): boolean {
  if (one.op !== other.op || one.callers.length !== other.callers.length || one.asks.length !== other.asks.length)
    return false;
  for (let i = 0; i < one.asks.length; i++) {
    const { cost, holder, until } = one.asks[i] as Ask;
    const ask = other.asks[i] as Ask;
    if (one.rules[i] !== other.rules[i] || cost !== ask.cost || holder !== ask.holder || until !== ask.until)
      return false;
  }
  return true;
}

function writeRun({ op, asks, rules, callers }: Request, length: number, policies: ReadonlyMap<Rule, number>): string {
  let text = `,${String(OPS[op])},${String(asks[0]?.until ?? 0)},${String(callers.length)},${String(length)},${String(asks.length)}`;
  for (let i = 0; i < asks.length; i++) {
    const { cost, holder = 0 } = asks[i] as Ask;
    text += `,${String(policies.get(rules[i] as Rule))},${String(cost)},${String(holder)}`;
  }
  return text;
}

const written = new WeakMap<Rule, string>();
/** Where the script reads the numbers of the next policy. */
const NUMBERS = 8;

function writeNumbers(rule: Rule): string {
  let text = written.get(rule);
  if (text === undefined) {
    text = Array.from({ length: NUMBERS }, (_, i) => `,${String(rule.numbers[i] ?? 0)}`).join('');
    written.set(rule, text);
  }
  return text;
}
