export { fakeClock, type FakeClock } from './fake-clock.ts';
export { describeStore, type OpenStore, type Runner } from './describe-store.ts';
