import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { serve, type Served } from '../serve.ts';

const LIMITS = `limits:
  login: { fixedWindow: { limit: 5, window: 1h } }
  jobs: { concurrency: { limit: 1, ttl: 1m } }
`;
const AT_ONCE = 32;

interface Described {
  readonly paths: Readonly<
    Record<
      string,
      { post: { requestBody: { content: { 'application/json': { schema: { readonly properties: object } } } } } }
    >
  >;
}

let service: Served;
let names: [string, ...string[]];
/** The fields of each operation. */
let fieldsBy: ReadonlyMap<string, readonly string[]>;
let agent: Agent;
/** What clients keep, for requests that mean something. */
let kept: readonly [reservation: string, slot: string];

beforeAll(async () => {
  service = await serve(LIMITS, { http: '0.0.0.0:0', token: 'token-of-the-tests' });
  const { paths } = (await service.request('/v1/openapi.json')).body as Described;
  const schemaOf = ({ post }: Described['paths'][string]) => post.requestBody.content['application/json'].schema;
  fieldsBy = new Map(
    Object.entries(paths).map(([path, one]) => [path.slice('/v1/'.length), Object.keys(schemaOf(one).properties)]),
  );
  names = [...fieldsBy.keys()] as [string, ...string[]];
  agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const { reservation } = (await service.post('reserve', { keys: { login: 'a' }, estimate: 1 })).body as {
    reservation: string;
  };
  const { slot } = (await service.post('acquire', { keys: { jobs: 'a' } })).body as { slot: string };
  kept = [reservation, slot];
});
afterAll(async () => {
  agent.destroy();
  await service.close();
});

/** A value of JSON, of those that mean something and of those that do not. */
function valueOf(random: Random, depth = 0): unknown {
  const plain = [
    null,
    true,
    -1,
    0,
    1,
    1.5,
    2 ** 53,
    1e308,
    '',
    'a',
    '1m',
    '\ud800',
    '__proto__',
    'x'.repeat(300),
    ...kept,
  ] as const;
  if (depth > 3 || random.percent(50)) return random.pick(plain);
  const length = random.integer(0, 3);
  if (random.percent(20)) return Array.from({ length }, () => valueOf(random, depth + 1));
  const names = ['login', 'jobs', 'keys', '__proto__', 'constructor', 'toString', ''] as const;
  return Object.fromEntries(Array.from({ length }, () => [random.pick(names), valueOf(random, depth + 1)]));
}

/** A body that is nearly right for an operation, as bytes of which some are changed. */
function bodyOf(random: Random, operation: string): Buffer {
  const fields = ['keys', 'cost', 'estimate', 'actual', 'reservation', 'slot', 'holder', 'duration', 'reset', 'limit'];
  const right = { keys: { login: 'a' }, cost: 1, estimate: 1, actual: 1, reservation: kept[0], slot: kept[1] };
  const body: Record<string, unknown> = {};
  for (const name of fields) {
    if (random.percent(fieldsBy.get(operation)?.includes(name) === true ? 30 : 95)) continue;
    body[name] = random.percent(50) ? (right as Record<string, unknown>)[name] : valueOf(random);
  }
  const bytes = Buffer.from(JSON.stringify(random.percent(90) ? body : valueOf(random)));
  for (let i = random.integer(0, 4) - 2; i > 0 && bytes.length > 0; i--) {
    bytes[random.integer(0, bytes.length - 1)] = random.integer(0, 255);
  }
  return random.percent(5) ? bytes.subarray(0, random.integer(0, bytes.length)) : bytes;
}

async function statusOf(random: Random): Promise<number | undefined> {
  const name = random.pick(names);
  const body = bodyOf(random, name);
  const isTrusted = random.percent(30);
  const sent = request({
    ...{
      agent,
      host: '127.0.0.1',
      port: Number(service.server.addresses.http?.split(':').at(-1)),
      method: random.percent(98) ? 'POST' : 'PUT',
    },
    path: `/v1/${random.percent(95) ? name : encodeURIComponent(String(valueOf(random, 9)).replaceAll(/\p{Surrogate}/gu, ''))}`,
    headers: {
      'content-type': random.percent(95) ? 'application/json' : 'text/plain',
      'content-length': body.length,
      ...(isTrusted ? { authorization: 'Bearer token-of-the-tests' } : {}),
    },
  });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  await once(response, 'end');
  return response.statusCode;
}

describe('/v1', () => {
  it('answers each of thousands of mutated requests, none of them with a failure of its own', async () => {
    const random = seeded(testSeed(19));
    const statuses = new Map<number | undefined, number>();
    for (let i = 0; i < cases(3000); i += AT_ONCE) {
      const together = await Promise.all(Array.from({ length: AT_ONCE }, () => statusOf(random)));
      for (const status of together) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }

    expect(
      [...statuses.keys()].filter((status) => ![200, 204, 400, 401, 403, 404, 405, 409, 415].includes(status ?? 0)),
    ).toEqual([]);
    expect(statuses.get(200)).toBeGreaterThan(0);
    expect(await service.post('peek', { keys: { login: 'another' } })).toMatchObject({ body: { used: 0 } });
  });
});
