export type Schema = Readonly<Record<string, unknown>>;

export const text = (description: string, more: Schema = {}): Schema => ({ type: 'string', description, ...more });
export const whole = (description: string, more: Schema = {}): Schema => ({ type: 'integer', description, ...more });
export const units = (description: string, minimum = 0): Schema =>
  whole(description, { minimum, maximum: Number.MAX_SAFE_INTEGER });

/** Every field that a body of `/v1` may have. */
export const FIELDS: Readonly<Record<string, Schema>> = {
  keys: {
    type: 'object',
    description: 'A key under the name of each limit. All of these limits must allow, or nothing is taken.',
    minProperties: 1,
    additionalProperties: { type: 'string', minLength: 1 },
    examples: [{ 'per-user': '42' }],
  },
  cost: { ...units('Units.'), default: 1 },
  estimate: units('The largest possible cost, if it is known, keeps the limit exact.', 1),
  reservation: text('The reservation that reserve returned.'),
  actual: units('The units that were used.'),
  slot: text('The slot that acquire returned.'),
  holder: text(
    'The holder of the slot, a secret: acquiring again with the same holder and cost returns the same slot. Without the token it has at least 16 characters.',
    { minLength: 1 },
  ),
  duration: { type: ['integer', 'string'], description: 'Milliseconds, or a string such as 10s, 5m or 1h.' },
  reset: { type: 'boolean', default: false, description: 'Whether to clear what was used in the same step.' },
  limit: text('The name of a managed limit.'),
  key: text('The key to override. Give either this or prefix.', { minLength: 1 }),
  prefix: text('Or every key that begins with this.', { minLength: 1, maxLength: 256 }),
  policy: {
    type: 'object',
    description: 'A policy of the same kind, as in the file of limits, or as in answers.',
    examples: [{ fixedWindow: { limit: 500, window: '1m' } }],
  },
  until: {
    type: ['integer', 'string'],
    description: 'When it ends: milliseconds since 1970, or a string such as 2027-01-01T00:00:00Z. Default: never.',
  },
  by: text('Who makes the change. Stored with it.', { minLength: 1, maxLength: 256 }),
  reason: text('Why. Stored with it.', { minLength: 1, maxLength: 1000 }),
};
