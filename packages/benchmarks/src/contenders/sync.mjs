import { memoryStore } from '@sluice/core';
// The function that adapters call on a memory store. It is not part of the public interface.
import { LimiterCore, readSubject } from '@sluice/core/spi';
import { policiesOf } from './sluice.mjs';

/** The path of an adapter with a memory store, without a promise. */
export function synchronous({ limit, policies = 1, kind }) {
  const core = new LimiterCore({ store: memoryStore({ maxKeys: 2_000_000 }) });
  core.claim();
  const counted = core.limitFor(policiesOf(limit, policies, kind));
  const consume = (key) =>
    core.decide('take', [{ limit: counted, key, subject: readSubject(key), cost: 1, holder: 0, isNamed: false }]);
  return { isSync: true, consume, denies: ({ allowed }) => !allowed };
}
