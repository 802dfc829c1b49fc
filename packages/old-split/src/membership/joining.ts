import { SluiceError } from '@sluice/old-core';

/** Why a second store cannot join a membership. */
export function inUseError(): SluiceError {
  return new SluiceError(
    'SLUICE_OPTION_INVALID',
    'this membership is already in use by another splitStore: give one splitStore to all limiters, or give each store a membership with a group of its own',
  );
}

/** How long `close` waits for the reply to the last message. */
const LEAVE_WITHIN_MS = 1000;

/** Resolves when the work is done, and at the latest after a second: `close` does not wait for a registry that hangs. */
export async function withinLeaveTime(work: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, LEAVE_WITHIN_MS);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
