/** The kind of a value, for errors: the value itself may be secret. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (typeof (value as Partial<PromiseLike<unknown>> | undefined)?.then === 'function') return 'a promise';
  return typeof value === 'object' ? `an object (${nameOf(value)})` : typeof value;
}

function nameOf(value: object): string {
  return (value.constructor as { readonly name?: string } | undefined)?.name ?? 'Object';
}
