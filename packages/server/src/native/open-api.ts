import { FIELDS, text, units, whole, type Schema } from './fields.ts';
import type { Operation } from './operations.ts';

const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** An object with these fields. */
function record(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', required, properties };
}

const orNull = (schema: Schema, description: string): Schema => ({
  ...schema,
  type: [schema['type'], 'null'],
  description,
});
const NUMBERS = {
  limit: whole('The limit of a window, or the capacity of a bucket.', { minimum: 0 }),
  remaining: whole('Units that would be allowed right now.', { minimum: 0 }),
  used: whole('Units used after the decision.', { minimum: 0 }),
  retryAfterMs: orNull({ type: 'integer' }, 'Milliseconds until the same cost is allowed; null if it never can be.'),
  resetAfterMs: whole('Milliseconds until the key is as if never used.'),
  delayMs: whole('Milliseconds to wait before starting, for a leaky bucket.'),
};
const CHANGED = {
  name: text('The managed policy that it overrides.'),
  target: { description: 'A key (a long one as # and its hash), or { prefix }.' },
  policy: { type: 'object' },
  untilMs: orNull({ type: 'integer' }, 'When it ends, in milliseconds since 1970. Null: never.'),
  changedAtMs: whole('When it was changed, milliseconds since 1970.'),
  by: orNull({ type: 'string' }, 'Who changed it last.'),
  reason: orNull({ type: 'string' }, 'Why.'),
};

const SCHEMAS: Readonly<Record<string, Schema>> = {
  Decision: record({
    allowed: { type: 'boolean' },
    outcome: { enum: ['allowed', 'denied', 'blocked', 'unconfigured', 'unavailable'] },
    policy: text('The policy that decided.'),
    cost: units('Units.'),
    ...NUMBERS,
    source: text('What decided: the store, this process (cache), or the local fallback (local).'),
    atMs: { type: 'number', description: 'When it was decided, by the clock of the store.' },
    policies: { type: 'array', items: ref('PolicyDecision') },
    fields: {
      type: 'object',
      description:
        'The header fields to copy onto the response that the decision leads to: RateLimit-Policy and RateLimit; of a denial Cache-Control and Retry-After too. None if no limit has decided.',
      additionalProperties: { type: 'string' },
      examples: [{ 'RateLimit-Policy': '"login";q=5;w=60', RateLimit: '"login";r=4;t=60' }],
    },
  }),
  PolicyDecision: record(
    {
      name: { type: 'string' },
      allowed: { type: 'boolean' },
      ...NUMBERS,
      windowMs: whole('The window, or the time to fill the bucket, in milliseconds.'),
      nextAfterMs: orNull({ type: 'integer' }, 'Milliseconds until one more unit is free; null if unknown.'),
      unit: { const: 'concurrent-requests', description: 'Units are held until they are released.' },
    },
    ['unit'],
  ),
  Reservation: record({
    decision: ref('Decision'),
    reservation: orNull({ type: 'string' }, 'Pass it to settle. Null if there is nothing to settle.'),
  }),
  Acquisition: record({
    decision: ref('Decision'),
    slot: orNull({ type: 'string' }, 'Pass it to release and renew. Null if nothing is held.'),
  }),
  Renewal: record({ held: { type: 'boolean', description: 'Whether the slots were still held.' } }),
  Overrides: record({ overrides: { type: 'array', items: record(CHANGED) }, hasMore: { type: 'boolean' } }),
  Override: record({
    ...CHANGED,
    change: { enum: ['created', 'changed', 'unchanged'] },
    before: { type: 'object', description: 'The policy that applied to its keys until now.' },
  }),
  Removal: record({ removed: { type: 'boolean', description: 'Whether there was one.' } }),
  Problem: record(
    {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      code: text('A code of docs/reference/errors.md.', { pattern: '^SLUICE_[A-Z_]+$' }),
    },
    ['code'],
  ),
};

const PROBLEMS: Readonly<Record<string, string>> = {
  400: 'The request is invalid. Nothing was done.',
  401: 'The token is missing or wrong. Nothing was done.',
  403: 'A page of another origin, or a foreign Host on the loopback, without the token; or the reservation or slot was not issued by this service. Nothing was done.',
  409: 'The reservation is too old, or the limit is not managed, or not configured. Nothing was done.',
  413: 'The body is too long.',
  415: 'The body is not JSON.',
  503: 'The store does not answer, or the service is overloaded.',
};

function makeResponse(description: string, schema: string, type = 'application/json'): Schema {
  return { description, content: { [type]: { schema: ref(schema) } } };
}

function describe(name: string, { summary, needs, may = [], needsRights, answer }: Operation): Schema {
  const body = record(Object.fromEntries([...needs, ...may].map((field) => [field, FIELDS[field] as Schema])), may);
  const problems = Object.entries(PROBLEMS).map(([status, why]): [string, Schema] => [
    status,
    makeResponse(why, 'Problem', 'application/problem+json'),
  ]);
  return {
    operationId: name,
    summary,
    ...(needsRights === true ? { security: [{ token: [] }, {}] } : {}),
    requestBody: {
      required: true,
      content: { 'application/json': { schema: { ...body, additionalProperties: false } } },
    },
    responses: {
      ...(answer === undefined ? { 204: { description: 'Done.' } } : { 200: makeResponse('Done.', answer) }),
      ...Object.fromEntries(problems),
    },
  };
}

/** The OpenAPI 3.1 document of `/v1`. */
export function openApi(operations: Readonly<Record<string, Operation>>): Schema {
  const paths = Object.entries(operations).map(([name, one]) => [`/v1/${name}`, { post: describe(name, one) }]);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Sluice',
      version: '1',
      description:
        'Rate limits over the named limits of the configuration. The operations are those of a Limiter of @sluice/core. Any process of the service may serve any call.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    paths: Object.fromEntries(paths) as Schema,
    components: {
      schemas: SCHEMAS,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'The token of the service. A listener on the loopback needs none.',
        },
      },
    },
  };
}
