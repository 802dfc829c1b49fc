// For the command line: what pages share in Redis.
export type { Denial, PageRecord, SharedKey } from './shared/record.ts';
export { mergeDenied, mergeLost, readShared, shareRecord, type SharedRecord } from './shared/redis.ts';
