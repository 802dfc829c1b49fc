/** The header fields that answers have, by the option `headers` of the application. */
export type FieldFormat = 'draft-11' | 'draft-7' | 'draft-6' | 'legacy';

const NAMES: Record<FieldFormat, readonly string[]> = {
  'draft-11': ['RateLimit-Policy', 'RateLimit'],
  'draft-7': ['RateLimit-Policy', 'RateLimit'],
  'draft-6': ['RateLimit-Policy', 'RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'],
  legacy: ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'],
};

export const FORMATS: readonly FieldFormat[] = Object.keys(NAMES) as FieldFormat[];

/** The error in the fields of an answer; undefined if they are right. */
export function faultOf(headers: Headers, format: FieldFormat, policy: string | undefined): string | undefined {
  const missing = NAMES[format].filter((name) => headers.get(name) === null);
  if (missing.length > 0) return `it has no field ${missing.join(', ')}`;
  if (format !== 'draft-11') return undefined;
  const quotas = itemsOf(headers.get('RateLimit-Policy') ?? '');
  const states = itemsOf(headers.get('RateLimit') ?? '');
  for (const [field, items, parameter] of [
    ['RateLimit-Policy', quotas, 'q'],
    ['RateLimit', states, 'r'],
  ] as const) {
    const text = `${field}: ${headers.get(field) ?? ''}`;
    if (items.size === 0) return `its field is none of draft 11: ${text}`;
    for (const [name, parameters] of items) {
      if (parameters.get(parameter) === undefined) return `its policy "${name}" has no ${parameter}: ${text}`;
    }
    if (policy !== undefined && !items.has(policy)) return `it does not name the policy "${policy}": ${text}`;
  }
  return undefined;
}

/** The members of a list of structured fields, such as `"default";q=100;w=60`, with their whole numbers. */
function itemsOf(field: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const items = new Map<string, ReadonlyMap<string, number>>();
  for (const [, name = '', parameters = ''] of field.matchAll(/"((?:[^"\\]|\\.)*)"((?:;[^;,"]+(?:"[^"]*")?)*)/g)) {
    const numbers = new Map<string, number>();
    for (const [, key = '', value = ''] of parameters.matchAll(/;\s*([a-z]+)=(\d+)/g)) numbers.set(key, Number(value));
    items.set(name, numbers);
  }
  return items;
}
