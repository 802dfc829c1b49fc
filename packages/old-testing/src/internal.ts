export { clockedRedisStore } from './clocked-redis-store.ts';
export { until } from './until.ts';
export { changingPolicy, type ChangingPolicy } from './describe-store/changing-limit.ts';
