import type { LocalTime } from '@sluice/old-core/spi';
import type { ConsulAgent } from './consul-agent.ts';
import type { ConsulMembershipSettings, RegistrationSettings } from './options.ts';

/** How often a check is renewed while it passes. */
const RENEWALS = 3;
/** An instance whose check fails for so long is removed; Consul takes no less. */
const REMOVED_AFTER = '1m';

/** An instance as this process registers it at its agent: registered, renewed, and at the end removed. */
export class Registration {
  readonly #agent: ConsulAgent;
  readonly #service: string;
  readonly #id: string;
  readonly #settings: RegistrationSettings;
  readonly #time: LocalTime;

  constructor(
    agent: ConsulAgent,
    { service, id }: Pick<ConsulMembershipSettings, 'service' | 'id'>,
    settings: RegistrationSettings,
    time: LocalTime,
  ) {
    this.#agent = agent;
    this.#service = service;
    this.#id = id;
    this.#settings = settings;
    this.#time = time;
  }

  /**
   * Registers the instance, and renews its check. An agent that does not know it any more gets it again.
   *
   * @returns A function that stops that, and removes the instance.
   */
  keep(failed: (error: unknown) => void): () => Promise<void> {
    const everyMs = this.#settings.checkTtlMs / RENEWALS;
    let isRegistered = false;
    let isGone = false;
    let cancel: () => void = () => undefined;
    const renewAndSchedule = async (): Promise<void> => {
      const stopping = this.#limit(everyMs);
      try {
        isRegistered = await this.#renew(isRegistered, stopping.signal);
      } catch (error) {
        if (!isGone) failed(error);
      }
      stopping.cancel();
      if (!isGone) cancel = this.#time.after(everyMs, () => void (renewing = renewAndSchedule()));
    };
    let renewing = renewAndSchedule();
    return async () => {
      isGone = true;
      cancel();
      await renewing; // a registration under way would come after the removal
      // If this is lost, the check fails after its time.
      await this.#remove(everyMs).catch(() => undefined);
    };
  }

  async #renew(isRegistered: boolean, signal: AbortSignal): Promise<boolean> {
    if (!isRegistered) await this.#register(signal);
    else {
      const path = `/v1/agent/check/pass/${encodeURIComponent(this.#checkId)}`;
      const { status } = await this.#agent.ask({ method: 'PUT', path, signal });
      if (status !== 200) await this.#register(signal);
    }
    return true;
  }

  async #register(signal: AbortSignal): Promise<void> {
    const { weight, address, port, checkTtlMs } = this.#settings;
    const body = {
      ID: this.#id,
      Name: this.#service,
      ...(address !== undefined && { Address: address }),
      ...(port !== undefined && { Port: port }),
      Weights: { Passing: weight, Warning: 1 },
      Check: {
        CheckID: this.#checkId,
        TTL: `${String(checkTtlMs)}ms`,
        Status: 'passing',
        DeregisterCriticalServiceAfter: REMOVED_AFTER,
      },
    };
    const query = { 'replace-existing-checks': 'true' };
    await this.#agent.expect({ method: 'PUT', path: '/v1/agent/service/register', query, body, signal });
  }

  async #remove(limitMs: number): Promise<void> {
    const { signal, cancel } = this.#limit(limitMs);
    const path = `/v1/agent/service/deregister/${encodeURIComponent(this.#id)}`;
    await this.#agent.ask({ method: 'PUT', path, signal }).finally(cancel);
  }

  get #checkId(): string {
    return `service:${this.#id}`;
  }

  #limit(ms: number): { readonly signal: AbortSignal; readonly cancel: () => void } {
    const ending = new AbortController();
    const cancel = this.#time.after(ms, () => {
      ending.abort(new Error(`no answer within ${String(Math.round(ms))} ms`));
    });
    return { signal: ending.signal, cancel };
  }
}
