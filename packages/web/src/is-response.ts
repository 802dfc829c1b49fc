/** By its methods: there may be several classes of that name in a process. */
export function isResponse(value: unknown): value is Response {
  return typeof (value as Partial<Response> | null | undefined)?.headers?.append === 'function';
}
