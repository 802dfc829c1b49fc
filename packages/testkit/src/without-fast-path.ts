import type { Store } from '@sluice/old-core';

/** A store without what it brings to decide faster: each decision is a call of its own, sent at once. */
export function withoutFastPath(store: Store): Store {
  return {
    source: store.source,
    ...(store.breaker === undefined ? {} : { breaker: store.breaker }),
    perform: (requests, call) => store.perform(requests, call),
    close: () => store.close?.(),
  };
}
