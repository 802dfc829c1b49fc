import { setTimeout as sleep } from 'node:timers/promises';
import { SluiceError } from '@sluice/core';
import { LimiterCore } from '@sluice/core/spi';
import { Access } from './access.ts';
import { makeOperatorsPage } from './admin/operators-page.ts';
import { Stats } from './stats/stats.ts';
import { ConfigurationSource } from './config/configuration-source.ts';
import { listKnownLimits, type Configuration } from './config/configuration.ts';
import type { Health } from './health/health.ts';
import { RequestRules } from './config/request-rules.ts';
import { makeLimitMaker } from './limits.ts';
import { logStore } from './log-store.ts';
import { openListeners } from './listeners/open-listeners.ts';
import { isLocal, formatAddress } from './transport/address.ts';
import {
  parseServerOptions,
  type CloseOptions,
  type ListenerName,
  type ServerOptions,
  type Settings,
} from './options.ts';
import type { Service } from './service.ts';
import { openStore } from './store.ts';

/** A running service. */
export interface RunningServer {
  /** Where each listener accepts connections, as `host:port`; listeners that are off are missing. */
  readonly addresses: Readonly<Partial<Record<ListenerName, string>>>;
  /** Reads the configuration now. Changes to its files are noticed without this. */
  reload(): Promise<void>;
  /**
   * Stops: health says NOT_SERVING; after `delayMs`, connections get a GOAWAY or `Connection: close`, and running
   * requests are answered within `drainMs`. Later calls return the same promise.
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * Starts the service: Envoy's rate limit protocol, forward auth, and the native protocol, over the limits of a file.
 * Resolves when every listener accepts connections.
 *
 * @example
 * ```ts
 * const server = await createServer({ config: 'limits.yaml', redis: 'redis://127.0.0.1:6379' });
 * ```
 *
 * @throws (rejects) SluiceError `SLUICE_OPTION_INVALID`, `SLUICE_OPTION_UNKNOWN`; ConfigurationError with every problem
 * of the file, by line and column; the errors of reading files and of listening.
 */
export async function createServer(options: ServerOptions): Promise<RunningServer> {
  const settings = parseServerOptions(options);
  const opened = openStore(settings);
  const core = new LimiterCore({
    name: 'service',
    store: opened.store,
    timeoutMs: settings.timeoutMs,
    app: settings.app,
    shared: true,
  });
  const service = new LiveService(core, settings);
  const undo: (() => unknown)[] = [
    () => opened.close(),
    () => core.close(),
    () => {
      service.stats.close();
    },
  ];
  const undoAll = async (): Promise<void> => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    core.claim();
    opened.connect();
    undo.push(logStore(opened.store, core.name, settings.log));
    await service.load(settings);
    undo.push(() => {
      service.close();
    });
    const page = makeOperatorsPage(service, settings);
    undo.push(() => page?.close());
    const listeners = await openListeners(service, settings, page?.routes ?? []);
    service.showLimits();
    service.health.isServing = true;
    let closing: Promise<void> | undefined;
    const end = async (delayMs: number): Promise<void> => {
      service.health.isServing = false;
      if (delayMs > 0) await sleep(delayMs);
      await page?.close(); // an open page is a request that would not end
      await Promise.all(listeners.map(async (listener) => listener.close(settings.drainMs)));
      await undoAll();
    };
    return {
      addresses: Object.fromEntries(listeners.map(({ name, address }) => [name, formatAddress(address)])),
      reload: () => service.reload(),
      close: ({ delayMs = 0 } = {}) => (closing ??= end(delayMs)),
    };
  } catch (error) {
    await undoAll();
    throw error;
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

class LiveService implements Service {
  readonly core: LimiterCore;
  readonly requestRules: RequestRules;
  readonly health: Health = { isServing: false };
  readonly access: Access;
  readonly stats: Stats;
  readonly timeoutMs: number;
  #source: ConfigurationSource | undefined;

  constructor(core: LimiterCore, settings: Settings) {
    const { token, timeoutMs, siblings, redis = [], prefix } = settings;
    this.core = core;
    this.requestRules = new RequestRules((policy) => core.limitFor(policy));
    this.stats = new Stats(siblings);
    this.access = new Access(token, isPrivate(settings) ? [...redis, prefix].join(' ') : undefined);
    this.timeoutMs = timeoutMs;
  }

  get configuration(): Configuration {
    return (this.#source as ConfigurationSource).current;
  }

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
  }
}
