/** Every code a warning of Sluice can carry. Each has a heading in docs/reference/errors.md. */
export type SluiceWarningCode = 'SLUICE_MEMORY_SATURATED' | 'SLUICE_REDIS_KEY_PREFIX' | 'SLUICE_ROUTE_UNKNOWN';

const given = new Set<string>();

/**
 * Warns through `process.emitWarning`, once per code and subject. `node --disable-warning=<code>` silences one.
 *
 * @param about - What the warning is about; the same code warns once for each.
 */
export function warnOnce(code: SluiceWarningCode, message: string, about = ''): void {
  const once = `${code} ${about}`;
  if (given.has(once)) return;
  given.add(once);
  process.emitWarning(message, {
    type: 'SluiceWarning',
    code,
    detail: `See docs/reference/errors.md#${code.toLowerCase()}`,
  });
}
