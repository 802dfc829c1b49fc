export { fixedMembership } from './fixed-membership.ts';
export type { Confirmation, Epoch, Membership, UntimedConfirmation, TimedConfirmation } from './membership.ts';
export type { FixedMembershipOptions, RedisMembershipOptions, SplitStoreOptions } from './options.ts';
export { redisMembership } from './redis-membership.ts';
export { splitStore, type SplitStore } from './split-store.ts';
