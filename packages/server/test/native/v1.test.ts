import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { fixedWindow, memoryStore, redisStore } from '@sluice/core';
import { createPolicies } from '@sluice/core/managed';
import { expectWarnings, until, useClosing, useRedis } from '@sluice/testkit';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ServerOptions } from '../../src/index.ts';
import { serve, type Answer, type Served } from '../serve.ts';

expectWarnings('SLUICE_POLICY_UNCONFIGURED');

const LIMITS = `limits:
  login: { fixedWindow: { limit: 5, window: 1h } }
  burst: { tokenBucket: { capacity: 100, refill: 100, every: 1h } }
  jobs: { concurrency: { limit: 2, ttl: 1m } }
  hour: { slidingWindow: { limit: 3, window: 1h } }
`;
const TOKEN = 'token-of-the-tests';
const RIGHTS = { authorization: `Bearer ${TOKEN}` };
const STRANGERS = { http: '0.0.0.0:0', token: TOKEN } as const;
const keys = { login: '42' };

const redis = useRedis();
const closing = useClosing();
let prefixes = 0;

/** The OpenAPI document, as far as tests read it, and the operations that have been done. */
interface Documented {
  readonly paths: Readonly<
    Record<string, { readonly post: { readonly responses: Readonly<Record<string, Described>> } }>
  >;
}
interface Described {
  readonly content?: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>;
}
const ajv = new Ajv2020({ allErrors: true, strict: false });
let document: Documented;
const done = new Set<string>();
beforeAll(async () => {
  const served = await serve(LIMITS);
  document = (await served.request('/v1/openapi.json')).body as Documented;
  ajv.addSchema({ $id: 'doc', ...document });
  await served.close();
});

/** Whether an operation takes a body, as the document says. */
function accepts(name: string, body: unknown): boolean {
  const path = `doc#/paths/${`/v1/${name}`.replaceAll('/', '~1')}/post`;
  const validate = ajv.getSchema(`${path}/requestBody/content/application~1json/schema`);
  if (validate === undefined) throw new Error(`the document does not describe ${name}`);
  return validate(body) === true;
}

/** A service each of whose answers is held to the document, and each body that it takes. */
async function start(options: Partial<ServerOptions> = {}, yaml = LIMITS): Promise<Served> {
  const served = closing(await serve(yaml, options));
  const post: Served['post'] = async (name, body, headers) => {
    const answer = await served.post(name, body, headers);
    const { status, type } = answer;
    const described = document.paths[`/v1/${name}`]?.post.responses;
    if (described === undefined) return answer;
    const [content] = Object.entries(described[String(status)]?.content ?? {});
    expect([status, content?.[0]]).toEqual([status, status === 204 ? undefined : type]);
    const validate = content && ajv.getSchema(`doc${content[1].schema.$ref}`);
    expect([validate?.(answer.body) ?? true, validate?.errors ?? null]).toEqual([true, null]);
    if (status >= 300) return answer;
    done.add(`/v1/${name}`);
    expect([name, accepts(name, typeof body === 'string' ? JSON.parse(body) : body)]).toEqual([name, true]);
    return answer;
  };
  if (options.redis === undefined) return { ...served, post };
  // On a busy machine the first connection may take longer than a request waits for it.
  await until('Redis decides', async () => {
    const { body } = await post('peek', { keys }, RIGHTS);
    return (body as { source?: string }).source === 'redis';
  });
  return { ...served, post };
}

const readText = ({ body }: Answer, field: 'reservation' | 'slot' | 'detail'): string =>
  (body as Record<string, string>)[field] ?? '';

describe.each<[string, () => Partial<ServerOptions>]>([
  ['memory', () => ({ store: memoryStore() })],
  ['Redis', () => ({ redis: redis.server.url, prefix: `s${String(prefixes++)}` })],
])('/v1 on %s', (_kind, options) => {
  it('consumes, peeks and decides over several limits together, or takes nothing', async () => {
    const { post } = await start(options());
    const first = await post('consume', { keys, cost: 3 });
    const looked = await post('peek', { keys, cost: 3 });
    const denied = await post('consume', { keys: { ...keys, hour: 'a' }, cost: 3 });
    const left = await post('peek', { keys: { hour: 'a' } });

    expect(first).toMatchObject({ status: 200, body: { allowed: true, policy: 'login', remaining: 2, used: 3 } });
    expect(looked).toMatchObject({ status: 200, body: { allowed: false, outcome: 'denied', used: 3 } });
    expect(denied).toMatchObject({ status: 200, body: { allowed: false, policy: 'login', policies: [{}, {}] } });
    expect(left).toMatchObject({ body: { used: 0 } });
  });

  it('refunds, charges, resets, blocks and unblocks', async () => {
    const { post } = await start(options());
    const steps: readonly [string, object, object][] = [
      ['charge', { cost: 7 }, { used: 7, outcome: 'denied' }],
      ['refund', { cost: 4 }, { used: 3 }],
      ['refund', {}, { used: 2 }],
      ['block', { duration: '1m' }, { outcome: 'blocked' }],
      ['unblock', {}, { outcome: 'allowed', used: 2 }],
      ['reset', {}, { used: 0 }],
      ['charge', { cost: 1 }, { used: 1 }],
      ['block', { duration: 60_000, reset: true }, { outcome: 'blocked', used: 0 }],
    ];
    for (const [name, fields, after] of steps) {
      expect((await post(name, { keys, ...fields })).status).toBe(204);
      expect((await post('peek', { keys })).body).toMatchObject(after);
    }
  });

  it.each([10, 4, 0, 25])(
    'settles a reservation of 10 at %i units over all its limits, by any process, once',
    async (actual) => {
      const shared = { ...options(), token: TOKEN };
      const [one, other] = [await start(shared), await start(shared)];
      const both = { burst: '42', login: `settled at ${String(actual)}` };
      await one.post('charge', { keys: { burst: '42' }, cost: 1 });
      const { body } = await one.post('reserve', { keys: { burst: '42' }, estimate: 10 });
      const { reservation } = body as { reservation: string };
      const answers = await Promise.all([other, one, other].map((of) => of.post('settle', { reservation, actual })));
      const small = await one.post('reserve', { keys: both, estimate: 3 });
      await one.post('settle', { reservation: readText(small, 'reservation'), actual: 1 });

      expect(answers.map(({ status }) => status)).toEqual([204, 204, 204]);
      expect((await one.post('peek', { keys: { burst: '42' } })).body).toMatchObject({ used: actual + 2 });
      expect((await one.post('peek', { keys: { login: both.login } })).body).toMatchObject({ used: 1 });
    },
  );

  it('acquires, renews and releases slots, by any process', async () => {
    const shared = { ...options(), token: TOKEN };
    const [one, other] = [await start(shared), await start(shared)];
    const acquire = (of: Served, more = {}): Promise<Answer> => of.post('acquire', { keys: { jobs: 'x' }, ...more });
    const first = await acquire(one);
    const named = await acquire(other, { holder: 'worker-7' });
    const again = await acquire(one, { holder: 'worker-7' });
    const third = await acquire(other);
    const slot = readText(first, 'slot');

    expect([first, named, again, third].map(({ body }) => body)).toMatchObject([
      ...Array<object>(3).fill({ decision: { allowed: true }, slot: expect.any(String) }),
      { decision: { allowed: false }, slot: null },
    ]);
    expect(await other.post('renew', { slot })).toMatchObject({ status: 200, body: { held: true } });
    expect((await other.post('release', { slot })).status).toBe(204);
    expect((await one.post('release', { slot })).status).toBe(204);
    expect(await one.post('renew', { slot })).toMatchObject({ body: { held: false } });
    expect((await acquire(one)).body).toMatchObject({ decision: { allowed: true } });
  });
});

it('settles a reservation, and remembers that it is settled, in one call of Redis', async () => {
  const { post } = await start({ redis: redis.server.url, prefix: `s${String(prefixes++)}` });
  const both = { burst: '42', login: 'a' };
  const { reservation } = (await post('reserve', { keys: both, estimate: 3 })).body as { reservation: string };
  await post('settle', { reservation, actual: 3 }); // the script is known
  const other = (await post('reserve', { keys: both, estimate: 2 })).body as { reservation: string };
  await redis.admin.config('RESETSTAT');
  await post('settle', { reservation: other.reservation, actual: 1 });

  expect(await redis.admin.info('commandstats')).toMatch(/cmdstat_evalsha:calls=1,/);
  expect((await post('peek', { keys: both })).body).toMatchObject({ policies: [{ used: 4 }, { used: 4 }] });
});

describe('/v1', () => {
  it('gives the header fields to copy onto a response', async () => {
    const { post } = await start();
    const allowed = await post('consume', { keys: { ...keys, burst: 'a' } });
    const never = await post('peek', { keys, cost: 6 });
    await post('block', { keys, duration: '1h' });
    const blocked = await post('peek', { keys });
    const fieldsOf = ({ body }: Answer): object => (body as { fields: object }).fields;

    expect(fieldsOf(allowed)).toEqual({
      'RateLimit-Policy': '"login";q=5;w=3600, "burst";q=100;w=3600',
      RateLimit: expect.stringMatching(/^"login";r=4;t=\d+, "burst";r=99;t=\d+$/),
    });
    expect(Object.keys(fieldsOf(never))).toEqual(['RateLimit-Policy', 'RateLimit', 'Cache-Control']);
    expect(fieldsOf(blocked)).toMatchObject({ 'Cache-Control': 'no-store', 'Retry-After': '3600' });
  });

  it('decides over a new configuration at once: what was used stays used, and what was taken can be settled', async () => {
    const served = await start();
    await served.post('consume', { keys, cost: 3 });
    const reserved = await served.post('reserve', { keys, estimate: 1 });
    await served.reload('limits: { login: { fixedWindow: { limit: 4, window: 1h } } }');

    expect((await served.post('consume', { keys })).body).toMatchObject({ allowed: false, limit: 4, used: 4 });
    expect((await served.post('consume', { keys: { hour: 'a' } })).status).toBe(400);
    expect((await served.post('settle', { reservation: readText(reserved, 'reservation'), actual: 0 })).status).toBe(
      204,
    );
    expect((await served.post('peek', { keys })).body).toMatchObject({ used: 3 });
  });
});

describe('a wrong request', () => {
  it.each<[string, unknown, number, string]>([
    ['consume', '{"keys":', 400, 'the body must be JSON'],
    ['consume', '[]', 400, 'the body of /v1/consume takes an object with keys and cost, got an array of 0'],
    ['consume', {}, 400, 'the field keys is missing; /v1/consume needs keys; nothing was done'],
    ['consume', { keys, costs: 2 }, 400, 'did you mean "cost"?'],
    ['consume', { keys: 'login' }, 400, 'the key is an object with a key for login'],
    ['consume', { keys: { login: 42 } }, 400, 'the key of login must be'],
    ['consume', '{"keys":{"__proto__":"x"}}', 400, 'there is no limit named "__proto__"; known: login'],
    ['consume', { keys: { logins: 'x' } }, 400, 'there is no limit named "logins"; did you mean "login"?'],
    ['consume', { keys, cost: -1 }, 400, 'cost must be a whole number from 0 to 2^53 - 1, got -1'],
    ['consume', '{"keys":{"login":"42"},"cost":1e400}', 400, 'cost must be a whole number'],
    ['consume', { keys: { jobs: 'x' } }, 400, 'over HTTP these are /v1/acquire, /v1/renew and /v1/release'],
    ['refund', { keys: { jobs: 'x' } }, 400, 'holds slots, which belong to their holders'],
    ['reserve', { keys, estimate: 0 }, 400, 'estimate must be at least 1 unit, got 0'],
    ['settle', { reservation: 5, actual: 1 }, 400, 'reservation must be a string, got 5'],
    ['settle', { reservation: 'x.y', actual: -1 }, 400, 'actual must be a whole number of units'],
    ['settle', { reservation: 'x.y', actual: 1 }, 403, 'the reservation was not issued by this service'],
    ['acquire', { keys }, 400, 'no policy of these keys holds slots'],
    ['acquire', { keys: { jobs: 'x' }, holder: '' }, 400, 'holder must be a non-empty string'],
    ['block', { keys, duration: '5 parsecs' }, 400, 'duration must be'],
    ['block', { keys, duration: '1m', reset: 1 }, 400, 'reset must be true or false, got 1'],
    ['override', { limit: 'login', key: 'a', policy: {} }, 409, 'write managed: and the name of a policy'],
    ['overrides', { limit: 'none' }, 400, 'there is no limit named "none"'],
    ['eat', { keys }, 404, 'there is nothing at /v1/eat; known: '],
    ['constructor', { keys }, 404, 'there is nothing at'],
  ])('to %s with %j is answered with what to write, and takes nothing', async (name, body, status, detail) => {
    const { post } = await start();
    const answer = await post(name, body);

    expect(answer).toMatchObject({ status, type: 'application/problem+json', body: { type: 'about:blank', status } });
    expect(readText(answer, 'detail')).toContain(detail);
    expect(readText(answer, 'detail')).not.toContain('SLUICE_');
    expect(await post('peek', { keys })).toMatchObject({ body: { used: 0 } });
  });

  it('has the code of the error, if there is one, and a store that does not answer tells nothing more', async () => {
    const perform = (): never => {
      throw Object.assign(new Error('at 10.0.0.7'), { name: 'StoreError', code: 'SLUICE_STORE_FAILED' });
    };
    const { post } = await start({ store: { source: 'own', perform } });
    const failed = await post('reset', { keys });

    expect(await post('consume', { keys, cost: -1 })).toMatchObject({ body: { code: 'SLUICE_COST_INVALID' } });
    expect(failed).toMatchObject({ status: 503, body: { code: 'SLUICE_STORE_FAILED' } });
    expect(readText(failed, 'detail')).not.toContain('10.0.0.7');
  });

  it('is of another method, type or length than it takes', async () => {
    const { post, request } = await start();
    const got = await request('/v1/consume');
    const sized = (bytes: number): string => JSON.stringify({ keys }).padEnd(bytes);

    expect([got.status, got.headers.get('allow')]).toEqual([405, 'POST']);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonx', '']) {
      expect((await post('consume', { keys }, { 'content-type': type })).status).toBe(415);
    }
    expect((await post('consume', sized(65_536))).status).toBe(200);
    expect((await post('consume', sized(65_537))).status).toBe(413);
  });
});

describe('the rights of a caller', () => {
  const guarded: Readonly<Record<string, object>> = {
    ...{ refund: { keys }, charge: { keys, cost: 1 }, reset: { keys }, block: { keys, duration: '1m' } },
    unblock: { keys },
  };

  it.each(Object.entries(guarded))('to %s are the token, or a listener of this machine alone', async (name, body) => {
    const [open, closed, home] = [await start(STRANGERS), await start({ http: '0.0.0.0:0' }), await start()];
    const statuses = [
      await open.post(name, body),
      await open.post(name, body, { authorization: 'Bearer wrong' }),
      await closed.post(name, body, { authorization: 'Bearer ' }),
      await open.post(name, body, RIGHTS),
      await home.post(name, body),
      await home.post(name, body, { origin: 'http://example.com' }),
    ].map(({ status }) => status);

    expect(statuses).toEqual([401, 401, 401, 204, 204, 403]);
    expect((await open.post('consume', { keys: { burst: 'a' } })).status).toBe(200);
    expect((await open.post('override', { limit: 'login', key: 'a', policy: {} })).status).toBe(401);
  });

  it('are needed to settle above the estimate', async () => {
    const { post } = await start(STRANGERS);
    const reservation = readText(await post('reserve', { keys, estimate: 2 }), 'reservation');

    expect((await post('settle', { reservation, actual: 9 })).status).toBe(401);
    expect((await post('peek', { keys })).body).toMatchObject({ used: 2 });
    expect((await post('settle', { reservation, actual: 9 }, RIGHTS)).status).toBe(204);
    expect((await post('peek', { keys })).body).toMatchObject({ used: 9 });
  });

  it('let it name a holder that others may guess', async () => {
    const { post } = await start(STRANGERS);
    const acquire = (holder: string, headers = {}): Promise<Answer> =>
      post('acquire', { keys: { jobs: 'x' }, holder }, headers);
    const [guessed, secret, trusted] = [
      await acquire('job-42'),
      await acquire('0b54ac6e-6d3f-4f19'),
      await acquire('job-42', RIGHTS),
    ];

    expect([guessed, secret, trusted].map(({ status }) => status)).toEqual([400, 200, 200]);
    expect(readText(guessed, 'detail')).toContain('at least 16 characters');
  });
});

describe('what a client keeps', () => {
  it('cannot be made or changed by it, and is known to processes with the same token alone', async () => {
    const [one, other] = [await start(STRANGERS), await start({ http: '0.0.0.0:0', token: 'another-token-of-tests' })];
    const reservation = readText(await one.post('reserve', { keys, estimate: 3 }), 'reservation');
    const slot = readText(await one.post('acquire', { keys: { jobs: 'x' } }), 'slot');
    const [content = '', signature = ''] = reservation.split('.');
    const forged = Buffer.from(Buffer.from(content, 'base64url').toString().replace('"cost":3', '"cost":9'));
    const texts = [
      ...['', 'x', '.', `${content}.`, `${content}.${'A'.repeat(22)}`, content, `${reservation}.x`, slot],
      `${forged.toString('base64url')}.${signature}`,
    ];
    for (const text of texts) expect((await one.post('settle', { reservation: text, actual: 0 })).status).toBe(403);

    expect((await one.post('release', { slot: reservation })).status).toBe(403);
    expect((await other.post('settle', { reservation, actual: 0 })).status).toBe(403);
    expect((await one.post('settle', { reservation, actual: 0 })).status).toBe(204);
    expect((await one.post('peek', { keys })).body).toMatchObject({ used: 0 });
  });

  it('needs a token at the start if replicas on one store take requests of other machines', async () => {
    const shared = { http: '0.0.0.0:0', store: memoryStore() };

    await expect(serve(LIMITS, shared)).rejects.toMatchObject({
      code: 'SLUICE_OPTION_INVALID',
      message: expect.stringContaining(
        'token (--token, SLUICE_TOKEN) must be given, the same for all replicas, got none',
      ),
    });
    await (await serve('domain: shop\ndescriptors: []', shared)).close();
  });
});

describe('the OpenAPI document', () => {
  it('is one', async () => {
    const { valid, errors } = await new Validator().validate(
      structuredClone(document) as object as Record<string, unknown>,
    );

    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('describes overrides of managed limits', async () => {
    const yaml = `${LIMITS}  orders: { managed: orders }\n  lost: { managed: lost }\n`;
    const { post } = await start({ redis: redis.server.url, prefix: 'described' }, yaml);
    const policies = closing(createPolicies(redisStore(redis.admin, { prefix: 'described' })));
    await policies.put('orders', fixedWindow({ limit: 5, window: '1h' }), { apps: ['sluice-server'] });
    const policy = { fixedWindow: { limit: 50, window: '1h' } };
    const why = { until: '2100-01-01T00:00:00Z', by: 'eve', reason: 'a sale' };
    const statuses = [
      await post('override', { limit: 'orders', key: 'ann', policy, ...why }),
      await post('override', {
        ...{ limit: 'orders', prefix: 'org-7:', policy: fixedWindow({ limit: 9, window: '1h' }), until: 4e12 },
      }),
      await post('overrides', { limit: 'orders' }),
      await post('reset', { keys: { lost: 'x' } }),
    ].map(({ status }) => status);

    expect(statuses).toEqual([200, 200, 200, 409]);
    await until('the override is in force', async () => {
      const { body } = await post('peek', { keys: { orders: 'ann' } });
      return (body as { limit: number }).limit === 50;
    });
    const { body } = await post('remove-override', { limit: 'orders', key: 'ann', by: 'eve' });
    expect(body).toEqual({ removed: true });
    expect((await post('overrides', { limit: 'orders' })).body).toMatchObject({
      overrides: [{ target: { prefix: 'org-7:' } }],
    });
  });

  it.each<[string, object]>([
    ['consume', { keys: {} }],
    ['consume', { keys, cost: -1 }],
    ['consume', { keys, more: 1 }],
    ['charge', { keys }],
    ['reserve', { keys, estimate: 0 }],
    ['settle', { reservation: 1, actual: 1 }],
    ['block', { keys }],
    ['override', { limit: 'orders', key: 'ann' }],
  ])('says that %s does not take %j', async (name, body) => {
    const { post } = await start();

    expect([accepts(name, body), (await post(name, body)).status]).toEqual([false, 400]);
  });
});

// If only some tests run, only some operations are done.
afterAll(() => {
  if (process.env['SLUICE_PART'] === undefined)
    expect([...done].toSorted()).toEqual(Object.keys(document.paths).toSorted());
});
