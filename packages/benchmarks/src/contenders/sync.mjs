import { memoryStore } from '@sluice/old-core';
// The function that adapters call on a memory store. It is not part of the public interface.
import { LimiterCore, encodeSubject, namePolicies } from '@sluice/old-core/spi';
import { policiesOf } from './sluice.mjs';

/** The path of an adapter with a memory store, without a promise. */
export function synchronous({ limit, policies = 1, kind }) {
  const core = new LimiterCore({ store: memoryStore({ maxKeys: 2_000_000 }) });
  core.claim();
  const counted = core.limits.of(namePolicies(policiesOf(limit, policies, kind), core.name));
  const consume = (key) => core.consume(counted, encodeSubject(key), 1);
  return { isSync: true, consume, denies: ({ allowed }) => !allowed };
}
