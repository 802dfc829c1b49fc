/** What `@sluice/testing` is built on: use that. */
export { clockedRedisStore } from './stores/redis/clocked-redis-store.ts';
