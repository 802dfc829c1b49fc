// For the command line: what pages share in Redis.
export { mergeDenied, onePerProcess } from './shared/merge-denied.ts';
export type { PageRecord, SharedChange, SharedKey } from './shared/page-record.ts';
export { RedisPages, type SharedPage, type SharedPages } from './shared/redis-pages.ts';
export type { PageChange } from './history.ts';
