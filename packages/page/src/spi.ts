// For the command line: what pages share in Redis.
export type { PageChange } from './changes.ts';
export type { PageRecord, SharedKey } from './shared/record.ts';
export { mergeDenied, mergeLost, readShared, shareChange, shareRecord, type Shared } from './shared/redis.ts';
