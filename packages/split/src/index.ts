export { fixedMembership } from './fixed/fixed-membership.ts';
export type { FixedMembershipOptions } from './fixed/options.ts';
export type {
  Confirmation,
  Epoch,
  Membership,
  UntimedConfirmation,
  TimedConfirmation,
} from './membership/membership.ts';
export type { SplitStoreOptions } from './options.ts';
export type { RedisMembershipOptions } from './redis/options.ts';
export { redisMembership } from './redis/redis-membership.ts';
export { splitStore, type SplitStore } from './split-store.ts';
