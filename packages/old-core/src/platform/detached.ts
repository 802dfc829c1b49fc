import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Runs a function outside of the async context of the request that happens to call it. A timer or connection made
 * inside would keep what the application stores there (`AsyncLocalStorage`) for as long as it lives, and its callbacks
 * would run as a part of that request. So would a promise that is made inside and kept.
 */
export const detached: <Result>(run: () => Result) => Result = AsyncLocalStorage.snapshot();
