export { until } from './until.ts';
export { changingPolicy, type ChangingPolicy } from './describe-store/changing-limit.ts';
