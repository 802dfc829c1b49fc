import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { fixedWindow, redisStore } from '@sluice/old-core';
import { createPolicies } from '@sluice/old-managed';
import { expectWarnings, useRedis } from '@sluice/testkit';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { openApi } from '../../../src/native/http/open-api.ts';
import { serveHttp, type Answer, type HttpService } from './http-service.ts';

expectWarnings('SLUICE_POLICY_UNCONFIGURED');

interface Documented {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, { properties?: Readonly<Record<string, unknown>> }>>;
  };
}
interface DocumentedOperation {
  readonly requestBody: { readonly content: { readonly 'application/json': { readonly schema: object } } };
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: { $ref: string } }>> }>
  >;
}

const LIMITS = `limits:
  login: { fixedWindow: { limit: 5, window: 1h } }
  slow: { leakyBucket: { limit: 1, window: 1s, maxDelay: 5s } }
  jobs: { concurrency: { limit: 1, ttl: 1m } }
  orders: { managed: orders }
  lost: { managed: lost }
`;
const { paths, components } = openApi as unknown as Documented;
const ajv = new Ajv2020({ allErrors: true, strict: false });
ajv.addSchema({ $id: 'doc', ...openApi });

const redis = useRedis();
let service: HttpService;
/** The properties of each schema that some answer had. */
const seen = new Map<string, Set<string>>();

beforeAll(async () => {
  service = await serveHttp(LIMITS, {
    store: redisStore(redis.admin, { prefix: 'sluice' }),
    timeoutMs: 5_000,
    token: 'token-of-the-tests',
  });
});
afterAll(async () => {
  await service.close();
});

/** The answer to a request, which matches its description. */
async function ask(
  name: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  of: HttpService = service,
): Promise<Answer> {
  return asDescribed(name, 'post', await of.post(name, body, headers));
}

/** The answer of `/v1/overrides`, which matches its description. */
async function askOverrides(
  method: 'GET' | 'PUT' | 'DELETE',
  fields: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const query = new URLSearchParams(fields as Record<string, string>).toString();
  const init = { method, headers: { 'content-type': 'application/json' } };
  const answer = await (method === 'PUT'
    ? service.request('/v1/overrides', { ...init, body: JSON.stringify(fields) })
    : service.request(`/v1/overrides?${query}`, { method }));
  return asDescribed('overrides', method.toLowerCase(), answer);
}

function asDescribed(name: string, method: string, answer: Answer): Answer {
  const described = paths[`/v1/${name}`]?.[method]?.responses[String(answer.status)];
  expect(described).toBeDefined();
  const [content] = Object.entries(described?.content ?? {});
  if (content === undefined) {
    expect(answer.body).toBeUndefined();
    return answer;
  }
  const [type, { schema }] = content;
  expect(answer.type).toBe(type);
  const validate = ajv.getSchema(`doc${schema.$ref}`);
  expect([validate?.(answer.body), validate?.errors ?? null]).toEqual([true, null]);
  see(schema.$ref.replace('#/components/schemas/', ''), answer.body as Record<string, unknown>);
  return answer;
}

function see(schema: string, value: Readonly<Record<string, unknown>>): void {
  const fields = seen.get(schema) ?? new Set();
  seen.set(schema, fields);
  for (const name of Object.keys(value)) fields.add(name);
  if (value['decision'] !== undefined) see('Decision', value['decision'] as Record<string, unknown>);
  for (const policy of (value['policies'] ?? []) as Record<string, unknown>[]) see('PolicyDecision', policy);
}

function accepts(name: string, body: unknown, method = 'post'): boolean {
  const validate = ajv.compile({
    $ref: `doc#/paths/${`/v1/${name}`.replaceAll('/', '~1')}/${method}/requestBody/content/application~1json/schema`,
  });
  return validate(body);
}

const keys = { login: '42' };

describe('the OpenAPI document', () => {
  it('is one, and is served', async () => {
    const result = await new Validator().validate(structuredClone(openApi));

    expect([result.valid, result.errors]).toEqual([true, undefined]);
    expect(await service.request('/v1/openapi.json')).toMatchObject({
      status: 200,
      type: 'application/json',
      body: openApi,
    });
  });

  it('describes every operation', async () => {
    const { body } = await service.post('nothing', {});
    const known = [...(body as { detail: string }).detail.matchAll(/\/v1\/\w+/g)].map(([path]) => path);

    expect(known.toSorted()).toEqual(Object.keys(paths).toSorted());
  });

  it.each<[string, unknown]>([
    ['consume', { keys }],
    ['consume', { keys, cost: 2 }],
    ['consume', { keys: { slow: '42', login: '42' } }],
    ['peek', { keys, cost: 9 }],
    ['peek', { keys: { jobs: 'a' } }],
    ['reserve', { keys: { slow: '1' }, estimate: 1 }],
    ['reserve', { keys, estimate: 9 }],
    ['acquire', { keys: { jobs: 'a' } }],
    ['acquire', { keys: { jobs: 'a' }, holder: 'x', cost: 1 }],
    ['charge', { keys, cost: 1 }],
    ['refund', { keys }],
    ['refund', { keys, cost: 2 }],
    ['reset', { keys }],
    ['block', { keys, duration: '1m' }],
    ['peek', { keys }],
    ['block', { keys, duration: 5, reset: true }],
    ['unblock', { keys }],
  ])('describes the answer of %s to %j', async (name, body) => {
    expect(accepts(name, body)).toBe(true);
    expect((await ask(name, body)).status).toBeLessThan(300);
  });

  it('describes what a reservation and a slot lead to', async () => {
    const { reservation } = (await ask('reserve', { keys: { login: 'r' }, estimate: 2 })).body as Record<
      string,
      unknown
    >;
    const { slot } = (await ask('acquire', { keys: { jobs: 'r' } })).body as Record<string, unknown>;

    expect(accepts('settle', { reservation, actual: 1 })).toBe(true);
    expect((await ask('settle', { reservation, actual: 1 })).status).toBe(204);
    expect(accepts('renew', { slot })).toBe(true);
    expect((await ask('renew', { slot })).status).toBe(200);
    expect((await ask('release', { slot })).status).toBe(204);
  });

  it('describes overrides and their changes', async () => {
    const orders = { limit: 'orders', key: 'ann' };
    const policies = createPolicies(redis.admin, { prefix: 'sluice' });
    await policies.put('orders', fixedWindow({ limit: 5, window: '1h' }), { apps: ['sluice-server'] });
    await policies.close();
    const policy = { fixedWindow: { limit: 50, window: '1h' } };
    const body = { ...orders, policy, until: '2100-01-01T00:00:00Z', by: 'eve', reason: 'a sale', dryRun: false };

    const put = await askOverrides('PUT', body);
    const listed = await askOverrides('GET', orders);
    const removed = await askOverrides('DELETE', { ...orders, by: 'eve', reason: 'it has ended' });
    const ended = await askOverrides('GET', { limit: 'orders', ended: 'true', startsWith: 'a' });
    const problems = [await askOverrides('GET', { limit: 'login' }), await askOverrides('PUT', {})];

    expect(accepts('overrides', body, 'put')).toBe(true);
    expect([put, listed, removed, ended].map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(ended.body).toMatchObject({ overrides: [{ policy: null, by: 'eve' }], hasMore: false });
    expect(problems.map(({ status }) => status)).toEqual([409, 400]);
    expect(accepts('overrides', {}, 'put')).toBe(false);
  });

  it.each<[string, unknown]>([
    ['consume', {}],
    ['consume', { keys: {} }],
    ['consume', { keys, cost: -1 }],
    ['consume', { keys: { login: '' } }],
    ['consume', { keys, more: 1 }],
    ['charge', { keys }],
    ['reserve', { keys, estimate: 0 }],
    ['acquire', { keys: { jobs: 'a' }, cost: 0 }],
    ['settle', { reservation: 1, actual: 1 }],
    ['block', { keys }],
  ])('does not accept what %s does not: %j', async (name, body) => {
    expect(accepts(name, body)).toBe(false);
    expect((await ask(name, body)).status).toBe(400);
  });

  it('describes every problem', async () => {
    const open = await serveHttp(LIMITS, { store: redisStore(redis.admin, { prefix: 'sluice' }), isPrivate: false });
    const statuses = [
      await ask('consume', { keys, cost: '' }),
      await ask('reset', { keys }, {}, open),
      await ask('reset', { keys }, { origin: 'http://page.example' }),
      await ask('settle', { reservation: 'x', actual: 1 }),
      await ask('consume', { keys: { logins: 'x' } }),
      await ask('reset', { keys: { lost: 'x' } }),
      await ask('consume', 'x'.repeat(70_000)),
      await ask('consume', { keys }, { 'content-type': 'text/plain' }),
    ].map(({ status }) => status);
    await open.close();
    redis.server.pause();
    statuses.push((await ask('reset', { keys })).status);
    redis.server.resume();

    expect(statuses).toEqual([400, 401, 403, 403, 404, 409, 413, 415, 503]);
  });

  it('promises nothing that no answer has had', () => {
    const ofDecisions = new Set([
      ...['Reservation', 'Acquisition', 'Renewal', 'Decision', 'PolicyDecision', 'Problem'],
      ...['Overrides', 'ChangedOverride', 'RemovedOverride'],
    ]);
    // What only stores of other kinds have.
    const elsewhere = new Set(['PolicyDecision.isResetKnown']);
    const missing = Object.entries(components.schemas)
      .filter(([name]) => ofDecisions.has(name))
      .flatMap(([name, { properties = {} }]) => Object.keys(properties).map((field) => [name, field] as const))
      .filter(([name, field]) => seen.get(name)?.has(field) !== true && !elsewhere.has(`${name}.${field}`));

    expect(missing).toEqual([]);
  });
});
