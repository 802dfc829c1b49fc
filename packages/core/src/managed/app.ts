import { PolicyError, shown } from '../errors.ts';

const LONGEST_APP = 128;

/**
 * Checks the name of an application. It is compared exactly with the `apps` of a policy.
 *
 * @throws PolicyError unless it is a string of 1 to 128 characters.
 */
export function parseApp(app: unknown, field: string): string {
  if (typeof app === 'string' && app !== '' && app.length <= LONGEST_APP) return app;
  throw new PolicyError(
    field,
    `${field} must be the name of an application, 1 to ${String(LONGEST_APP)} characters, got ${shown(app)}`,
    'SLUICE_OPTION_INVALID',
  );
}
