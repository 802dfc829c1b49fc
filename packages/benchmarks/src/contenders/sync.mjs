import { memoryStore } from '@sluice/core';
// What adapters on memory call. No part of the package's surface, so that it has no name of its own outside.
import { LimiterCore, encodeSubject, namePolicies } from '../../../core/dist/esm/internal.js';
import { policiesOf } from './sluice.mjs';

/** The path of an adapter whose store is memory: no promise on it. */
export function synchronous({ limit, policies = 1, kind }) {
  const core = new LimiterCore({ store: memoryStore({ maxKeys: 2_000_000 }) });
  core.claim();
  const counted = core.limits.of(namePolicies(policiesOf(limit, policies, kind), core.name));
  const take = (key) => core.take(counted, encodeSubject(key), 1);
  return { isSync: true, take, refuses: ({ allowed }) => !allowed };
}
