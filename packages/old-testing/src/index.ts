export { fakeClock, type FakeClock } from './fake-clock.ts';
export { redisStoreWithClock } from './redis-store-with-clock.ts';
export { describeStore } from './describe-store/describe-store.ts';
export type { StoreFactory } from './describe-store/setup.ts';
export type { Runner } from './runner.ts';
