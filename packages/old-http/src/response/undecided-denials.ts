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
  // Asked for here, and not imported: a program that does not serve by it does not load it, and not every runtime has it.
  const { getBuiltinModule } = process as Partial<Pick<NodeJS.Process, 'getBuiltinModule'>>;
  const http = getBuiltinModule?.('node:http') as
    { readonly STATUS_CODES: Readonly<Record<number, string>> } | undefined;
  return http?.STATUS_CODES[status] ?? 'Denied';
}
