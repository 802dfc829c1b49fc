import { SluiceError, type Store } from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';
import { Access } from './access.ts';
import { ConfigurationSource } from './config/configuration-source.ts';
import { listKnownLimits, type Configuration } from './config/configuration.ts';
import { RequestRules } from './config/request-rules.ts';
import type { Health } from './health/health.ts';
import { makeLimitMaker } from './limits.ts';
import type { Settings } from './options.ts';
import { Stats } from './stats/stats.ts';
import { isLocal } from './transport/address.ts';

/** What every protocol of the service uses to decide. */
export class Service {
  /** Makes the limits of descriptors and decides over them. Its name is `service`. */
  readonly core: LimiterCore;
  /** The rules of limits that requests bring with them. */
  readonly requestRules: RequestRules;
  readonly health: Health = { isServing: false };
  readonly access: Access;
  readonly stats: Stats;
  /** How long a decision may wait, in milliseconds; less if the caller's own deadline is shorter. */
  readonly timeoutMs: number;
  #source: ConfigurationSource | undefined;

  constructor(store: Store, settings: Settings) {
    const { token, timeoutMs, siblings, redis = [], prefix, app } = settings;
    this.core = new LimiterCore({ name: 'service', store, timeoutMs, app, shared: true });
    this.requestRules = new RequestRules((policy) => this.core.limitFor(policy));
    this.stats = new Stats(siblings);
    this.access = new Access(token, isPrivate(settings) ? [...redis, prefix].join(' ') : undefined);
    this.timeoutMs = timeoutMs;
  }

  /** The current configuration. Another object after a reload, so a request reads it once. */
  get configuration(): Configuration {
    return (this.#source as ConfigurationSource).current;
  }

  /** Loads the configuration for the first time, and follows its files from then on. */
  async load(settings: Settings): Promise<void> {
    const { config, log } = settings;
    this.#source = await ConfigurationSource.open(config, {
      makeLimit: makeLimitMaker(this.core),
      onLoad: (configuration) => {
        checkSecret(configuration, settings);
        if (this.#source !== undefined) log('a new configuration serves');
        this.showLimits(configuration);
        this.stats.loaded();
      },
      onError: (error) => {
        this.showLimits(); // without those that were made until the error
        this.stats.failedToLoad();
        log(`the configuration is unchanged: ${error.message}`);
      },
    });
  }

  /** Shows operators only the limits of a configuration, without the service's own. */
  showLimits(configuration: Configuration = this.configuration): void {
    this.core.known = listKnownLimits(configuration);
  }

  async reload(): Promise<void> {
    await this.#source?.reload();
  }

  close(): void {
    this.#source?.close();
    this.stats.close();
  }
}

/** Whether only callers with rights reach `/v1`: a signature gives them nothing that they cannot do anyway. */
function isPrivate({ listeners: { http, admin } }: Settings): boolean {
  return [http, admin].every((address) => address === undefined || isLocal(address));
}

/** @throws SluiceError if other replicas, or this one after a restart, could not verify what it has signed. */
function checkSecret({ limits }: Configuration, settings: Settings): void {
  const { token, store, redis, listeners } = settings;
  if (token !== undefined || limits.size === 0 || listeners.http === undefined || isPrivate(settings)) return;
  if (store === undefined && redis === undefined) return;
  const what = 'token (--token, SLUICE_TOKEN) must be given, the same for all replicas, got none';
  const why = 'it signs reservations and slots of /v1, which other replicas of this Redis settle and release';
  throw new SluiceError('SLUICE_OPTION_INVALID', `${what}: ${why}`);
}
