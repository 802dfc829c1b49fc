/** A Redis store that takes its instants from a clock. */
export { clockedRedisStore as virtualRedisStore } from '@sluice/old-testing/internal';
export { PRODUCTION_LINE, TEST_LINE, testGeneral } from '@sluice/old-core/spi';
