type Schema = Readonly<Record<string, unknown>>;

/** The description of an operation. */
interface Described {
  readonly summary: string;
  readonly description: string;
  readonly request: string;
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

const schemas: Readonly<Record<string, Schema>> = {
  Decision: record({
    allowed: { type: 'boolean' },
    outcome: { enum: ['allowed', 'denied', 'blocked', 'unconfigured', 'unavailable'] },
    policy: { type: 'string', description: 'The policy that decided.' },
    cost,
    ...policyNumbers,
    source: {
      enum: ['memory', 'redis', 'cache', 'lease', 'split', 'local', 'remote', 'none'],
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

const PROBLEMS: Readonly<Record<string, string>> = {
  400: 'The request is wrong. Nothing was done.',
  403: 'A page of another origin or a foreign Host on the loopback, without the token; or the reservation or slot is none of this service. Nothing was done.',
  404: 'There is no such limit. Nothing was done.',
  409: 'The configuration has changed, or a managed policy is not there. Nothing was done.',
  413: 'The body is too long.',
  415: 'The body is not JSON.',
  503: 'The store does not answer, or the service has as many requests as it takes.',
};

function responseOf(description: string, schema: string, type = 'application/json'): Schema {
  return { description, content: { [type]: { schema: ref(schema) } } };
}

function pathOf([name, { summary, description, request, answer, isPrivileged }]: [string, Described]): [
  string,
  Schema,
] {
  const problems =
    isPrivileged === true ? { 401: 'The token is missing or wrong. Nothing was done.', ...PROBLEMS } : PROBLEMS;
  const failures = Object.entries(problems).map(([status, why]) => [
    status,
    responseOf(why, 'Problem', 'application/problem+json'),
  ]);
  const post = {
    operationId: name,
    summary,
    description,
    ...(isPrivileged === true ? { security: [{ token: [] }, {}] } : {}),
    requestBody: { required: true, content: { 'application/json': { schema: ref(request) } } },
    responses: {
      ...(answer === undefined ? { 204: { description: 'Done.' } } : { 200: responseOf('Done.', answer) }),
      ...(Object.fromEntries(failures) as Schema),
    },
  };
  return [`/v1/${name}`, { post }];
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
  paths: Object.fromEntries(Object.entries(operations).map(pathOf)),
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
