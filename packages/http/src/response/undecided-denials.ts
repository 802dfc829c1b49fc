import { problem, type Denial, type DenialStatuses } from './denial.ts';

/** The response to a request without a key. */
export function missingKeyDenial({ missingKey }: DenialStatuses): Denial {
  const reason = 'The request has no rate-limit key (such as a client address or user)';
  return problem(missingKey, titleOf(missingKey), reason, `${reason}.`);
}

/** The response to a client on a `deny` list. Says no more than its status. */
export function forbiddenDenial({ deny }: DenialStatuses): Denial {
  return problem(deny, titleOf(deny), titleOf(deny));
}

function titleOf(status: number): string {
  if (status === 403) return 'Forbidden';
  // Loaded when a request is denied so, and not with this package. Not every runtime has this module.
  return process.getBuiltinModule?.('node:http')?.STATUS_CODES[status] ?? 'Denied';
}
