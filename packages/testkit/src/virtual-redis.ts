/** A Redis store that takes its instants from a clock. */
export { clockedRedisStore as virtualRedisStore } from '@sluice/testing/internal';
export { PRODUCTION_LINE, TEST_LINE, testGeneral } from '@sluice/core/spi';
