export { consulMembership, type ConsulMembershipOptions } from './consul/consul-membership.ts';
export type { ConsulRegistration } from './consul/registration.ts';
export type {
  Confirmation,
  Epoch,
  Membership,
  Members,
  TimedConfirmation,
  UntimedConfirmation,
} from './membership/membership.ts';
export { pollMembership, type AskMembers, type PollMembershipOptions } from './membership/poll-membership.ts';
export { redisMembership, type RedisMembershipOptions } from './redis/redis-membership.ts';
export { splitStore, type SplitStore, type SplitStoreOptions } from './split-store.ts';
