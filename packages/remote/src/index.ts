export { remoteStore, type RemoteStore } from './remote-store.ts';
export type { RemoteStoreOptions } from './options.ts';
