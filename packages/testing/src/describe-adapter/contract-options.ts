import type { ContractRedis } from './contract-redis.ts';

/** A part of the contract: a test file each, so that several processes share the work. */
export type ContractPart = 'answers' | 'keys' | 'counting' | 'waiting';

/** All parts, which take about the same time. */
export const contractParts: readonly ContractPart[] = ['answers', 'keys', 'counting', 'waiting'];

/** How the contract of adapters is run. */
export interface ContractOptions {
  /** Default: all of them. */
  readonly parts?: readonly ContractPart[];
  /**
   * A Redis of the tests, by URL, or what opens one before the first test. Scenarios write keys under `sluice:` and remove
   * them again. Default: the environment's `REDIS_URL`.
   */
  readonly redis?: string | (() => Promise<ContractRedis>);
  /** Of random keys and addresses. Default 42. */
  readonly seed?: number;
  /** How many random cases are tried, compared with the usual number. Default 1. */
  readonly effort?: number;
}
