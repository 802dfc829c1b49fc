import { createPolicies, type ManagedPolicy } from '@sluice/managed';
import { Failure } from '@sluice/simulate/terminal';
import { connect } from './redis.ts';
import type { GlobalOptions } from './session.ts';

/** Reads managed policies from Redis: connects when the first one is asked for, and not before. */
export class ManagedPolicies {
  readonly #options: GlobalOptions;
  #found: Promise<ReadonlyMap<string, ManagedPolicy>> | undefined;

  constructor(options: GlobalOptions) {
    this.#options = options;
  }

  /** @throws (rejects) Failure for a name that Redis does not have. */
  async get(name: string): Promise<ManagedPolicy> {
    const all = await (this.#found ??= this.#read());
    const policy = all.get(name);
    if (policy !== undefined) return policy;
    const names = [...all.keys()];
    throw new Failure(
      `there is no policy ${name}; ${names.length === 0 ? 'none is defined' : `there are: ${names.join(', ')}`}`,
    );
  }

  async #read(): Promise<ReadonlyMap<string, ManagedPolicy>> {
    const { redis, prefix } = this.#options;
    const connection = await connect(redis);
    try {
      const policies = createPolicies(connection, { prefix });
      try {
        return new Map((await policies.list()).map((policy) => [policy.name, policy]));
      } finally {
        await policies.close();
      }
    } finally {
      connection.disconnect();
    }
  }
}
