import { startTimer, stopTimer, type Timer } from '../../platform.ts';
import { optional, valueThat, wholeNumber, withDefault } from '../../values/shape.ts';
import type { Optional, Options, Settings, WithDefault } from '../../values/shape.ts';
import { MAX_PERIOD_MS } from '../membership/poll-membership.ts';
import type { AgentAnswer, ConsulAgent } from './consul-agent.ts';

export const REGISTRATION = {
  /** `Weights.Passing` of the instance: a whole number from 1 to 65 535. Default `1`. */
  weight: withDefault(wholeNumber(1, 65_535), 1) as WithDefault<number>,
  /** Where the instance is reached. Default: the address of the agent's node. */
  address: optional(
    valueThat((given) => typeof given === 'string' && given !== '', 'a host name or address'),
  ) as Optional<string>,
  /** The port where the instance is reached. Default: none. */
  port: optional(wholeNumber(1, 65_535, 'a port')) as Optional<number>,
  /**
   * How long the check passes without being renewed, in milliseconds, at least 1000: after this time a process that was
   * killed is no member. Renewed three times in it. Default `5000`.
   */
  checkTtlMs: withDefault(
    wholeNumber(1000, MAX_PERIOD_MS, 'a whole number of milliseconds'),
    5000,
  ) as WithDefault<number>,
};

/** How {@link consulMembership} registers an instance. */
export interface ConsulRegistration extends Options<typeof REGISTRATION> {}

/** How often a check is renewed while it passes. */
const RENEWALS = 3;
/** An instance whose check fails for so long is removed; Consul takes no less. */
const REMOVED_AFTER = '1m';

/**
 * Registers this process at its agent as an instance of a service, and renews its check. An agent that does not know it
 * any more gets it again.
 *
 * @returns Stops that, and removes the instance.
 */
export function keepRegistered(
  agent: ConsulAgent,
  { service, id }: { readonly service: string; readonly id: string },
  { weight, address, port, checkTtlMs }: Settings<typeof REGISTRATION>,
  failed: (error: unknown) => void,
): () => Promise<void> {
  const everyMs = Math.floor(checkTtlMs / RENEWALS);
  const checkId = `service:${id}`;
  let isRegistered = false;
  let isGone = false;
  let timer: Timer | undefined;

  const put = (path: string, which: string): Promise<AgentAnswer> =>
    agent.ask({ method: 'PUT', path: path + encodeURIComponent(which), signal: AbortSignal.timeout(everyMs) });
  const register = async (): Promise<void> => {
    const body = {
      ID: id,
      Name: service,
      ...(address !== undefined && { Address: address }),
      ...(port !== undefined && { Port: port }),
      Weights: { Passing: weight, Warning: 1 },
      Check: {
        CheckID: checkId,
        TTL: `${String(checkTtlMs)}ms`,
        Status: 'passing',
        DeregisterCriticalServiceAfter: REMOVED_AFTER,
      },
    };
    const query = { 'replace-existing-checks': 'true' };
    const signal = AbortSignal.timeout(everyMs);
    await agent.expect({ method: 'PUT', path: '/v1/agent/service/register', query, body, signal });
    isRegistered = true;
  };
  const renew = async (): Promise<void> => {
    try {
      if (!isRegistered || (await put('/v1/agent/check/pass/', checkId)).status !== 200) await register();
    } catch (error) {
      if (!isGone) failed(error);
    }
    if (!isGone) timer = startTimer(everyMs, () => void (renewing = renew()));
  };
  let renewing = renew();
  return async () => {
    isGone = true;
    stopTimer(timer);
    await renewing; // a registration under way would come after the removal
    // If this is lost, the check fails after its time.
    await put('/v1/agent/service/deregister/', id);
  };
}
