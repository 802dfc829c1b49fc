import { StoreError } from '@sluice/old-core';

/** How often a write is tried again that a concurrent one has come before. */
export const MOST_ATTEMPTS = 20;

export function tooBusy(what: string): StoreError {
  return new StoreError(
    'SLUICE_STORE_FAILED',
    `${what} was not changed, because of ${String(MOST_ATTEMPTS)} concurrent changes in a row`,
  );
}
