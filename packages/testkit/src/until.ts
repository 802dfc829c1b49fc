export { until } from '@sluice/old-testing/internal';
