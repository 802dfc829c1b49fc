import { afterAll, expect } from '@jest/globals';
import type { Store } from '@sluice/old-core';
import { remoteStore, type RemoteStore } from '@sluice/remote';
import type { AdapterUnderTest } from '@sluice/testkit/contract';
import { frameworks } from '../../../../express/test/frameworks.ts';
import { adapterOf } from '../../../../express/test/adapter.ts';
import { PathListeners, serviceOf } from '../service.ts';

/** Express whose stores are those of services. Call it inside `describe`, or at the top of a file. */
export function remoteAdapter(): AdapterUnderTest {
  const listeners = new PathListeners();
  const stores: RemoteStore[] = [];
  afterAll(async () => {
    expect(stores.length).toBeGreaterThan(0);
    await Promise.all(stores.map((store) => store.close()));
    await listeners.close();
  });
  const [express] = frameworks as [(typeof frameworks)[number]];
  return {
    ...adapterOf(express),
    name: `${express.version} over a remoteStore`,
    through(store: Store) {
      const remote = remoteStore(listeners.urlOf(serviceOf(store)));
      stores.push(remote);
      // A store with the clock of a test shows no denials: its clock does not run as that of this process does.
      return Object.assign(remote, { showsDenied: store.showsDenied === true });
    },
  };
}
