export { consulMembership } from './consul/consul-membership.ts';
export type { ConsulMembershipOptions, ConsulRegistration } from './consul/options.ts';
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
export type { PollMembershipOptions } from './poll/options.ts';
export { pollMembership } from './poll/poll-membership.ts';
export type { AskMembers } from './poll/poller.ts';
export type { RedisMembershipOptions } from './redis/options.ts';
export { redisMembership } from './redis/redis-membership.ts';
export { splitStore, type SplitStore } from './split-store.ts';
