import { fixedWindow } from '@sluice/core';
import { byAll, byIp } from '@sluice/core/http';
import { createPolicies, managed } from '@sluice/core/managed';
import { header, type AnyRequest, type Limit } from '../adapter.ts';
import { from, type Ask } from '../ask.ts';
import {
  each,
  FORBIDDEN,
  get,
  hourly,
  PROBLEM,
  makeRows,
  shows,
  UNTOLD,
  within,
  type Row,
  type Tools,
} from '../row.ts';

const once = fixedWindow({ limit: 1, window: '60s' });
const free = fixedWindow({ name: 'free', limit: 1, window: '60s' });
const paid = fixedWindow({ name: 'paid', limit: 2, window: '60s' });
const plans = { free, paid, both: [free, fixedWindow({ name: 'hourly', limit: 5, window: '1h' })] };
const planOf = (request: AnyRequest) => plans[header(request, 'x-plan') as keyof typeof plans];
const onPlan = (plan: string): Ask => ({ headers: { 'X-Plan': plan } });
const functions: readonly (readonly [string, Limit['policy']])[] = [
  ['a function', planOf],
  ['an async function', async (request) => Promise.resolve(planOf(request))],
];
function called<T>({ log }: Tools, name: string, value: T): T {
  log(name);
  return value;
}

/** A limit with policies stored by name. */
function stored(limits: Readonly<Record<string, number>>, more: Limit = {}): () => Limit {
  const records = Object.entries(limits).map(([name, limit]): [string, unknown] => [
    name,
    { policy: hourly(limit), apps: ['checkout'] },
  ]);
  const load = async () => Promise.resolve(Object.fromEntries(records));
  return () => ({ policy: managed('orders'), app: 'checkout', policies: createPolicies({ load }), ...more });
}

const perIp = { name: 'per-ip', policy: hourly(2), key: byIp() };
const ofAll = { name: 'of-all', policy: managed('orders'), key: byAll() };
const perIpAndOfAll: Limit = { policy: undefined, limits: [perIp, ofAll] };
const ofPlan: Limit = { policy: (request) => managed(String(header(request, 'x-plan'))) };

/** Which policy applies, to which requests, and what is reported. */
export const options: readonly Row[] = makeRows({
  ...each(functions, ([what, policy]) => [
    `a policy that is ${what} gives each request the limit of its plan`,
    { policy },
    [onPlan('free'), 200, shows('"free";q=1;w=60', '"free";r=0;t=60')],
    [onPlan('free'), 429],
    [onPlan('paid'), 200, shows('"paid";q=2;w=60', '"paid";r=1;t=60')],
    [onPlan('paid'), [200, 429]],
    [onPlan('both'), 429, shows('"free";q=1;w=60, "hourly";q=5;w=3600', '"free";r=0;t=60, "hourly";r=5', '60')],
  ]),
  'limit and window are a sliding window per address': [
    within({ trustLoopback: true }, { limit: 2, window: '1m' }),
    [from('203.0.113.1'), 200, shows('"default";q=2;w=60', '"default";r=1;t=60')],
    [{ ...from('203.0.113.1'), afterMs: 30_000 }, [200, 429, 200]],
    [from('203.0.113.2'), 200],
  ],
  'skip lets a request pass without counting it, and no other function is called for it': [
    within({ logged: ['key', 'cost', 'key', 'cost'] }, (tools) => ({
      policy: once,
      skip: async (request) => Promise.resolve(header(request, 'x-health') === 'yes'),
      key: () => called(tools, 'key', 'k'),
      cost: () => called(tools, 'cost', 1),
    })),
    [{ headers: { 'X-Health': 'yes' } }, [200, 200], UNTOLD],
    get(200, 429),
  ],
  'onDecision is passed every decision, with the key and the request': [
    within(
      {
        logged: [
          ['allowed', 0, '127.0.0.1', 'a'],
          ['denied', 0, '127.0.0.1', 'b'],
        ],
      },
      ({ log }) => ({
        policy: once,
        onDecision: async ({ outcome, remaining }, { key, request }) => {
          await Promise.resolve();
          log([outcome, remaining, key, header(request, 'x-sent')]);
        },
      }),
    ),
    [{ headers: { 'X-Sent': 'a' } }, 200],
    [{ headers: { 'X-Sent': 'b' } }, 429],
  ],
  'key, cost, policy, skip and onDecision are passed the response': [
    within({ logged: ['skip object', 'key object', 'cost object', 'policy object', 'onDecision object'] }, (tools) => ({
      skip: (_request, response) => called(tools, `skip ${typeof response}`, false),
      key: (_request, response) => called(tools, `key ${typeof response}`, 'k'),
      cost: (_request, response) => called(tools, `cost ${typeof response}`, 1),
      policy: (_request, response) => called(tools, `policy ${typeof response}`, free),
      onDecision: (_decision, { response }) => {
        called(tools, `onDecision ${typeof response}`, undefined);
      },
    })),
    get(200),
  ],
  // Policies that are stored. Without a record there is none.
  'a managed policy that does not exist denies with 403 and problem details, without fields': [
    stored({}),
    [{}, 403, PROBLEM, FORBIDDEN],
  ],
  ...each([{ onUnconfigured: 'allow' }, { mode: 'report' }] as const, (more) => [
    `a managed policy that does not exist lets requests pass with ${JSON.stringify(more)}`,
    stored({}, more),
    [{}, 200, { ...UNTOLD, 'x-limit': 'unconfigured 0 127.0.0.1' }],
  ]),
  'a managed policy may be what a policy function returns': [
    stored({ free: 1, paid: 2 }, ofPlan),
    [onPlan('free'), [200, 429]],
    [onPlan('paid'), [200, 200, 429]],
    [onPlan('forged'), 403],
  ],
  'a managed policy that is missing among several leaves the others with onUnconfigured: "allow", also for refunds': [
    stored({}, { ...perIpAndOfAll, onUnconfigured: 'allow', refund: 'on-success' }),
    [{}, [200, 200, 200], shows('"per-ip";q=2;w=3600', '"per-ip";r=1;t=3600')],
  ],
});
