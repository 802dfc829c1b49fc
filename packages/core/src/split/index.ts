export { consulMembership, type ConsulMembershipOptions } from './consul/consul-membership.ts';
export type { Confirmation, Membership, Members, RegistryTime } from './membership/membership.ts';
export { pollMembership, type AskMembers, type PollMembershipOptions } from './membership/poll-membership.ts';
export { redisMembership, type RedisMembershipOptions } from './redis/redis-membership.ts';
export { splitStore, type SplitStore, type SplitStoreOptions } from './split-store.ts';
