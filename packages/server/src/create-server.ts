import { setTimeout as sleep } from 'node:timers/promises';
import { LimiterCore as RemoteCore } from '@sluice/core/spi';
import { LimiterCore, type LimitRef } from '@sluice/old-core/spi';
import { Access } from './access.ts';
import { operatorsPage, type ServedPage } from './admin/operators-page.ts';
import { Stats } from './stats/stats.ts';
import type { CloseOptions } from './close-options.ts';
import { changesOf } from './config/changes.ts';
import { ConfigurationSource } from './config/configuration-source.ts';
import type { Configuration } from './config/configuration.ts';
import { knownLimits, shadowLimits } from './config/known-limits.ts';
import { Health } from './health/health.ts';
import { limitsOf } from './limit-of.ts';
import { logDenials } from './log-denials.ts';
import { logStore } from './log-store.ts';
import { openListeners, type Listener } from './listeners/open-listeners.ts';
import { isLocal, writtenAddress } from './transport/address.ts';
import { LISTENERS, parseServerOptions, type ListenerName, type ServerOptions, type Settings } from './options.ts';
import type { Service } from './service.ts';
import { openStore } from './store.ts';

/** A service that runs. */
export interface RunningServer {
  /** Where each listener accepts connections, as `host:port` or `unix:path`; a listener that is off has none. */
  readonly addresses: Readonly<Partial<Record<ListenerName, string>>>;
  /** Reads the configuration now. Changes of its files are noticed without this. */
  reload(): Promise<void>;
  /**
   * Stops: health says NOT_SERVING; after `delayMs` connections get a GOAWAY or `Connection: close`, and requests that
   * run are answered, within `drainMs`. Later calls return the same promise.
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
 * of the file, by line and column; what cannot be read or listened on.
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
  const { timeoutMs } = settings;
  const remote = opened.remote && new RemoteCore({ name: 'remote', store: opened.remote, timeoutMs });
  const service = new LiveService(core, remote, settings);
  const undo: (() => unknown)[] = [
    () => opened.close(),
    () => core.close(),
    () => {
      service.stats.close();
    },
  ];
  try {
    core.claim();
    opened.connect();
    undo.push(logStore(opened.store, core.name, settings.log));
    await service.load(settings);
    undo.push(() => {
      service.close();
    });
    undo.push(logDenials(core, (limit) => service.isShadow(limit), settings.log));
    const page = operatorsPage(service, settings);
    undo.push(() => page?.close());
    const listeners = await openListeners(service, settings, page?.routes ?? []);
    service.showLimits();
    if (needsSharedToken(service.configuration, settings)) settings.log(SHARED_TOKEN);
    service.health.isServing = true;
    return new StartedServer(service, settings, { listeners, page }, undo);
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

const SHARED_TOKEN =
  'without --token (SLUICE_TOKEN) reservations and slots of /v1 are signed with a secret of this start: other replicas of this Redis, and this one after a restart, answer 403 to settle, renew and release; give all of them one token';

/** Whether other replicas may be sent what this one has signed. Clients on the machine itself need no signature. */
function needsSharedToken({ limits }: Configuration, { token, store, redis, listeners: { http } }: Settings): boolean {
  const isShared = store !== undefined || redis !== undefined;
  return token === undefined && isShared && limits.size > 0 && http !== undefined && !isLocal(http);
}

class LiveService implements Service {
  readonly core: LimiterCore;
  readonly remote: RemoteCore | undefined;
  readonly health: Health = new Health();
  readonly access: Access;
  readonly stats: Stats;
  readonly timeoutMs: number;
  #source: ConfigurationSource | undefined;
  #shadow: ReadonlySet<LimitRef> = new Set();

  constructor(core: LimiterCore, remote: RemoteCore | undefined, { token, hostNames, timeoutMs, siblings }: Settings) {
    this.core = core;
    this.remote = remote;
    this.stats = new Stats(siblings);
    this.access = new Access(token, hostNames, siblings?.secret);
    this.timeoutMs = timeoutMs;
  }

  get store(): Service['store'] {
    return this.core.store;
  }

  get configuration(): Configuration {
    return (this.#source as ConfigurationSource).current;
  }

  async load(settings: Settings): Promise<void> {
    const { config, mergeDomains, log } = settings;
    this.#source = await ConfigurationSource.open(config, {
      mergeDomains,
      limitOf: limitsOf(this.core, settings),
      onLoad: (configuration) => {
        if (this.#source !== undefined)
          log(`a new configuration serves: ${changesOf(this.configuration, configuration)}`);
        this.showLimits(configuration);
        this.#shadow = shadowLimits(configuration);
        this.stats.loaded();
      },
      onError: (error) => {
        this.showLimits(); // without those that were made until the error
        this.stats.failedToLoad();
        log(`the configuration stays as it was: ${error.message}`);
      },
    });
  }

  /** Shows operators the limits of a configuration alone, without those that the service makes for itself. */
  showLimits(configuration: Configuration = this.configuration): void {
    this.core.limits.known = knownLimits(configuration);
  }

  /** Whether denials by a limit deny no request. */
  isShadow(limit: LimitRef): boolean {
    return this.#shadow.has(limit);
  }

  async reload(): Promise<void> {
    await this.#source?.check();
  }

  close(): void {
    this.#source?.close();
  }
}

class StartedServer implements RunningServer {
  readonly addresses: RunningServer['addresses'];
  readonly #service: LiveService;
  readonly #settings: Settings;
  readonly #listeners: readonly Listener[];
  readonly #page: ServedPage | undefined;
  readonly #undo: readonly (() => unknown)[];
  #closing: Promise<void> | undefined;

  constructor(
    service: LiveService,
    settings: Settings,
    { listeners, page }: { readonly listeners: readonly Listener[]; readonly page: ServedPage | undefined },
    undo: readonly (() => unknown)[],
  ) {
    this.#service = service;
    this.#settings = settings;
    this.#listeners = listeners;
    this.#page = page;
    this.#undo = undo;
    const byName = new Map(listeners.map(({ name, address }) => [name, writtenAddress(address)]));
    this.addresses = Object.fromEntries(
      LISTENERS.flatMap((name) => (byName.has(name) ? [[name, byName.get(name)]] : [])),
    );
  }

  reload(): Promise<void> {
    return this.#service.reload();
  }

  close({ delayMs = 0 }: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(delayMs);
    return this.#closing;
  }

  async #close(delayMs: number): Promise<void> {
    this.#service.health.isServing = false;
    if (delayMs > 0) await sleep(delayMs);
    await this.#page?.close(); // an open page is a request that would not end
    const { drainMs } = this.#settings;
    await Promise.all(this.#listeners.map(async (listener) => listener.close(drainMs)));
    for (const step of [...this.#undo].reverse()) await step();
  }
}
