export { fakeClock, type FakeClock } from '@sluice/testing';
