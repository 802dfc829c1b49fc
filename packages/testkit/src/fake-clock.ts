export { fakeClock, type FakeClock } from '@sluice/old-testing';
