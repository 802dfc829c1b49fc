import { CallError, Status } from '../grpc/status.ts';

/**
 * The bounds of a request. A decision over all descriptors' limits is one call of the script, during which Redis does
 * nothing else: 256 descriptors take about 2 ms.
 */
export const MAX_DESCRIPTORS = 256;
export const MAX_ENTRIES = 64;
/** Texts, in bytes. */
export const MAX_DOMAIN = 1024;
export const MAX_KEY = 1024;
export const MAX_VALUE = 8192;

/** @throws CallError `INVALID_ARGUMENT` if a request has more of something than it may. */
export function checkBound(found: number, most: number, what: string): void {
  if (found <= most) return;
  throw new CallError(
    Status.INVALID_ARGUMENT,
    `${what} at most ${String(most)}, got ${String(found)}; nothing was consumed`,
  );
}
