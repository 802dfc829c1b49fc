import { PolicyError, shown } from '../errors.ts';

/** @throws PolicyError for a value that cannot be a prefix of keys, and without a value. */
export function parsePrefix(prefix: unknown, where: string): string {
  if (typeof prefix === 'string' && /^[A-Za-z0-9._:/-]{1,64}$/.test(prefix)) return prefix;
  const call = `${where}(client, { prefix: 'shop' })`;
  throw new PolicyError(
    'prefix',
    prefix === undefined
      ? `${where} needs a prefix, the name of your application, so that two applications on one server do not share limits by accident: ${call}`
      : `prefix must be 1 to 64 letters, digits, ".", "_", "-", ":" and "/", got ${shown(prefix)}${typeof prefix === 'string' && /[{}]/.test(prefix) ? '; braces would move every key to one hash slot' : ''}; write ${call}`,
    'SLUICE_OPTION_INVALID',
  );
}
