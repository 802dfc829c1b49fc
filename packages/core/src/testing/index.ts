export { fakeClock, type FakeClock } from './fake-clock.ts';
export { describeStore, type OpenStore, type Runner } from './describe-store.ts';
export { expectLimited, type ExpectLimitedOptions, type TestedAnswer } from './expect-limited.ts';
export type { FetchHandler, NodeHandler, TestedApp } from './tested-app.ts';
