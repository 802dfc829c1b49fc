export { until } from './until.ts';
