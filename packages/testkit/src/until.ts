export { until } from '@sluice/testing/internal';
