type Schema = Readonly<Record<string, unknown>>;

/** The description of an operation. */
interface Described {
  readonly summary: string;
  readonly description: string;
  /** The schema of the body; undefined: `query` has the fields. */
  readonly request?: string;
  readonly query?: readonly Schema[];
  /** The schema of the answer; undefined: 204 without a body. */
  readonly answer?: string;
  readonly isPrivileged?: true;
}

const LARGEST = Number.MAX_SAFE_INTEGER;
const keys: Schema = {
  type: 'object',
  description: 'A key under the name of each limit. All of these limits must allow, or nothing is taken.',
  minProperties: 1,
  additionalProperties: { type: 'string', minLength: 1 },
  examples: [{ 'per-user': '42' }],
};
const cost: Schema = { type: 'integer', minimum: 0, maximum: LARGEST, description: 'Units.' };
const ms = (description: string): Schema => ({ type: 'integer', description: `${description} In milliseconds.` });
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

/** An object with these fields and no other. */
function record(properties: Readonly<Record<string, Schema>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', required, properties, additionalProperties: false };
}

const policyNumbers: Readonly<Record<string, Schema>> = {
  limit: { type: 'integer', minimum: 0, description: 'Units that can be had at once.' },
  remaining: { type: 'integer', minimum: 0, description: 'Units that would be allowed right now.' },
  used: { type: 'integer', minimum: 0, description: 'Units used after the decision.' },
  retryAfterMs: {
    type: ['integer', 'null'],
    minimum: 0,
    description: 'Until the same cost is allowed, in milliseconds; null if it never can be.',
  },
  resetAfterMs: ms('Until the key is as if never used.'),
  delayMs: ms('Pacing: the time to wait before you go on.'),
};

const limitName: Schema = { type: 'string', description: 'The name of a managed limit.' };
const overrideTarget: Readonly<Record<string, Schema>> = {
  key: { type: 'string', minLength: 1, description: 'The key whose numbers are others. Either this or prefix.' },
  prefix: { type: 'string', minLength: 1, maxLength: 256, description: 'Or: every key that begins with this.' },
};
const audit: Readonly<Record<string, Schema>> = {
  by: { type: 'string', minLength: 1, maxLength: 256, description: 'Who changes it: kept with it.' },
  reason: { type: 'string', minLength: 1, maxLength: 1000, description: 'Why: kept with it.' },
};
const nullable = (type: string, description: string): Schema => ({ type: [type, 'null'], description });
const overrideFields: Readonly<Record<string, Schema>> = {
  name: { type: 'string', description: 'The managed policy that it overrides.' },
  target: {
    oneOf: [{ type: 'string' }, record({ prefix: { type: 'string' } })],
    description: 'A key (a long one as # and its hash), or a prefix of keys.',
  },
  policy: nullable('object', 'Null: it was removed.'),
  untilMs: nullable('integer', 'When it ends, milliseconds since 1970. Null: it does not.'),
  by: nullable('string', 'Who changed it last.'),
  reason: nullable('string', 'Why.'),
  changedAtMs: ms('When, since 1970.'),
  version: { type: 'integer' },
};

const schemas: Readonly<Record<string, Schema>> = {
  Decision: record({
    allowed: { type: 'boolean' },
    outcome: { enum: ['allowed', 'denied', 'blocked', 'unconfigured', 'unavailable'] },
    policy: { type: 'string', description: 'The policy that decided.' },
    cost,
    ...policyNumbers,
    source: {
      enum: ['memory', 'redis', 'cache', 'split', 'local', 'remote', 'none'],
      description: 'What decided: the store, this process (cache), or the local fallback (local).',
    },
    atMs: { type: 'number', description: 'The instant of the decision by the clock of the store.' },
    policies: { type: 'array', items: ref('PolicyDecision') },
    fields: {
      type: 'object',
      description:
        'The header fields to copy onto the response that the decision leads to: RateLimit-Policy and RateLimit; of a denial Cache-Control and Retry-After too. None where no limit has decided.',
      additionalProperties: { type: 'string' },
      examples: [{ 'RateLimit-Policy': '"login";q=5;w=60', RateLimit: '"login";r=4;t=60' }],
    },
  }),
  PolicyDecision: record(
    {
      name: { type: 'string' },
      allowed: { type: 'boolean' },
      ...policyNumbers,
      windowMs: ms('The window, or the time that fills the bucket.'),
      nextAfterMs: {
        type: ['integer', 'null'],
        description: 'Until one more unit can be had, in milliseconds; null when there is no more to have.',
      },
      unit: { const: 'concurrent-requests', description: 'Units are held until they are released.' },
      isResetKnown: { const: false, description: 'The store cannot tell when units come back.' },
    },
    ['unit', 'isResetKnown'],
  ),
  DecideRequest: record({ keys, cost: { ...cost, default: 1 } }, ['cost']),
  ChargeRequest: record({ keys, cost }),
  ReserveRequest: record({
    keys,
    estimate: {
      ...cost,
      minimum: 1,
      description: 'The largest possible cost, where it is known, keeps the limit exact.',
    },
  }),
  Reservation: record({
    decision: ref('Decision'),
    reservation: {
      type: ['string', 'null'],
      description: 'What settle takes. Null where there is nothing to settle.',
    },
  }),
  SettleRequest: record({
    reservation: { type: 'string' },
    actual: { ...cost, description: 'The units that were used.' },
  }),
  AcquireRequest: record(
    {
      keys,
      cost: { ...cost, minimum: 1, default: 1 },
      holder: {
        type: 'string',
        minLength: 1,
        description:
          'Who holds the slot, a secret: acquiring again with the same holder and cost returns the same slot. Without the token it has at least 16 characters.',
      },
    },
    ['cost', 'holder'],
  ),
  Acquisition: record({
    decision: ref('Decision'),
    slot: { type: ['string', 'null'], description: 'What release and renew take. Null where nothing is held.' },
  }),
  SlotRequest: record({ slot: { type: 'string' } }),
  Renewal: record({ held: { type: 'boolean', description: 'Whether the slots were still held.' } }),
  KeysRequest: record({ keys }),
  BlockRequest: record(
    {
      keys,
      duration: {
        oneOf: [{ type: 'integer', minimum: 1 }, { type: 'string' }],
        description: 'Milliseconds, or a text such as 10s, 5m or 1h.',
      },
      reset: { type: 'boolean', default: false, description: 'Whether what was used is forgotten in the same step.' },
    },
    ['reset'],
  ),
  Overrides: record({
    overrides: { type: 'array', maxItems: 1000, items: ref('PolicyOverride') },
    hasMore: { type: 'boolean', description: 'Whether there are more: narrow the list with startsWith.' },
  }),
  OverrideRequest: record(
    {
      limit: limitName,
      ...overrideTarget,
      policy: {
        type: 'object',
        description: 'A policy of the same kind, as in the file of limits, or as answers have it.',
        minProperties: 1,
        examples: [{ fixedWindow: { limit: 500, window: '1m' } }],
      },
      until: {
        oneOf: [{ type: 'integer', minimum: 1 }, { type: 'string' }],
        description:
          'When it ends: milliseconds since 1970, or a text such as 2027-01-01T00:00:00Z. Default: it does not.',
      },
      ...audit,
      dryRun: { type: 'boolean', default: false, description: 'Answers what would change, and changes nothing.' },
    },
    ['key', 'prefix', 'until', 'by', 'reason', 'dryRun'],
  ),
  PolicyOverride: record(overrideFields),
  ChangedOverride: record({
    ...overrideFields,
    change: { enum: ['created', 'changed', 'unchanged'] },
    before: { type: 'object', description: 'The policy that counted for its keys until now.' },
  }),
  RemovedOverride: record({ removed: { type: 'boolean', description: 'Whether there was one.' } }),
  Problem: record(
    {
      type: { type: 'string' },
      title: { type: 'string' },
      status: { type: 'integer' },
      detail: { type: 'string' },
      code: { type: 'string', pattern: '^SLUICE_[A-Z_]+$', description: 'A code of docs/reference/errors.md.' },
    },
    ['code'],
  ),
};

const operations: Readonly<Record<string, Described>> = {
  consume: {
    summary: 'Takes units if every limit allows them.',
    description: 'A denial is an answer too: look at `allowed`.',
    request: 'DecideRequest',
    answer: 'Decision',
  },
  peek: {
    summary: 'Tells whether consume would be allowed.',
    description: 'Takes nothing.',
    request: 'DecideRequest',
    answer: 'Decision',
  },
  reserve: {
    summary: 'Takes an estimate of a cost that is known only afterwards.',
    description: 'Decides as consume does. A reservation that is never settled costs its estimate.',
    request: 'ReserveRequest',
    answer: 'Reservation',
  },
  settle: {
    summary: 'States how many units of a reservation were used.',
    description:
      'Gives back what was not used, or charges what was used beyond, once: sent again, it does nothing. After ten minutes a reservation costs its estimate.',
    request: 'SettleRequest',
  },
  acquire: {
    summary: 'Takes slots of a concurrency policy, and units of the others.',
    description: 'A slot is held until it is released, or for the `ttl` of its policy after the last renewal.',
    request: 'AcquireRequest',
    answer: 'Acquisition',
  },
  release: { summary: 'Releases slots.', description: 'Sent again, it does nothing.', request: 'SlotRequest' },
  renew: {
    summary: 'Makes slots expire a ttl from now.',
    description: 'Slots that have expired are not held again.',
    request: 'SlotRequest',
    answer: 'Renewal',
  },
  refund: {
    summary: 'Gives units back to keys.',
    description: 'At most those that are used. Each call counts, so send it once.',
    request: 'DecideRequest',
    isPrivileged: true,
  },
  charge: {
    summary: 'Counts units that have been used already.',
    description: 'Never denies.',
    request: 'ChargeRequest',
    isPrivileged: true,
  },
  reset: {
    summary: 'Forgets what keys have used.',
    description: 'A block stays.',
    request: 'KeysRequest',
    isPrivileged: true,
  },
  block: {
    summary: 'Denies every request of keys for a while.',
    description: 'A later block replaces it.',
    request: 'BlockRequest',
    isPrivileged: true,
  },
  unblock: { summary: 'Ends a block.', description: '', request: 'KeysRequest', isPrivileged: true },
};

const inQuery = (properties: Readonly<Record<string, Schema>>): readonly Schema[] =>
  Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', required: name === 'limit', schema }));

/** The operations of `/v1/overrides`, by their methods. */
const overrides: Readonly<Record<string, Described & { readonly id: string }>> = {
  get: {
    id: 'listOverrides',
    summary: 'Lists the overrides of a managed limit, at most 1000.',
    description:
      'Each with who changed it, when and why. With key or prefix those that concern it: the first one counts.',
    query: inQuery({
      limit: limitName,
      ...overrideTarget,
      startsWith: { type: 'string', description: 'Only those whose key or prefix begins with this.' },
      ended: {
        type: 'boolean',
        default: false,
        description: 'Whether those are listed that were removed or have ended.',
      },
    }),
    answer: 'Overrides',
    isPrivileged: true,
  },
  put: {
    id: 'putOverride',
    summary: 'Gives a key, or all keys with a prefix, other numbers than their managed limit.',
    description: 'In force in every process within a second. What was used stays used.',
    request: 'OverrideRequest',
    answer: 'ChangedOverride',
    isPrivileged: true,
  },
  delete: {
    id: 'removeOverride',
    summary: 'Removes an override.',
    description: 'Who did it, when and why stays.',
    query: inQuery({ limit: limitName, ...overrideTarget, ...audit }),
    answer: 'RemovedOverride',
    isPrivileged: true,
  },
};

const PROBLEMS: Readonly<Record<string, string>> = {
  400: 'The request is wrong. Nothing was done.',
  403: 'A page of another origin or a foreign Host on the loopback, without the token; or the reservation or slot is none of this service. Nothing was done.',
  404: 'There is no such limit. Nothing was done.',
  409: 'The configuration has changed, a managed policy is not there, or a limit is not managed. Nothing was done.',
  413: 'The body is too long.',
  415: 'The body is not JSON.',
  503: 'The store does not answer, or the service has as many requests as it takes.',
};

function responseOf(description: string, schema: string, type = 'application/json'): Schema {
  return { description, content: { [type]: { schema: ref(schema) } } };
}

function operationOf(id: string, { summary, description, request, query, answer, isPrivileged }: Described): Schema {
  const problems =
    isPrivileged === true ? { 401: 'The token is missing or wrong. Nothing was done.', ...PROBLEMS } : PROBLEMS;
  const failures = Object.entries(problems).map(([status, why]) => [
    status,
    responseOf(why, 'Problem', 'application/problem+json'),
  ]);
  const content = request && { 'application/json': { schema: ref(request) } };
  return {
    operationId: id,
    summary,
    description,
    ...(isPrivileged === true ? { security: [{ token: [] }, {}] } : {}),
    ...(query === undefined ? {} : { parameters: query }),
    ...(content === undefined ? {} : { requestBody: { required: true, content } }),
    responses: {
      ...(answer === undefined ? { 204: { description: 'Done.' } } : { 200: responseOf('Done.', answer) }),
      ...(Object.fromEntries(failures) as Schema),
    },
  };
}

function pathsOf(): Schema {
  const posts = Object.entries(operations).map(([name, described]) => [
    `/v1/${name}`,
    { post: operationOf(name, described) },
  ]);
  const methods = Object.entries(overrides).map(([method, { id, ...described }]) => [
    method,
    operationOf(id, described),
  ]);
  return { ...(Object.fromEntries(posts) as Schema), '/v1/overrides': Object.fromEntries(methods) as Schema };
}

/** The OpenAPI 3.1 document of `/v1`. */
export const openApi: Schema = {
  openapi: '3.1.0',
  info: {
    title: 'Sluice',
    version: '1',
    description:
      'Rate limits over the named limits of the configuration. The operations are those of a Limiter of @sluice/core. Any process of the service may serve any call.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/' }],
  paths: pathsOf(),
  components: {
    schemas,
    securitySchemes: {
      token: {
        type: 'http',
        scheme: 'bearer',
        description: 'The token of the service. A listener on the loopback needs none.',
      },
    },
  },
};
