import { setTimeout as sleep } from 'node:timers/promises';
import { makeOperatorsPage } from './admin/operators-page.ts';
import { logStore } from './log-store.ts';
import { openListeners } from './listeners/open-listeners.ts';
import { parseServerOptions, type CloseOptions, type ListenerName, type ServerOptions } from './options.ts';
import { Service } from './service.ts';
import { openStore } from './store.ts';
import { formatAddress } from './transport/address.ts';

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
  const service = new Service(opened.store, settings);
  const { core } = service;
  const undo: (() => unknown)[] = [
    () => opened.close(),
    () => core.close(),
    () => {
      service.close();
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
