import type { Siblings, StatsReport } from '../stats/siblings.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/** A worker's link to the process that started it. */
export interface WorkerLink {
  /** The option `siblings` of `createServer`. */
  readonly siblings: Siblings;
  /** Reports that the listeners accept connections. */
  ready(addresses: Readonly<Partial<Record<string, string>>>): void;
  /** Called when the worker should reload its configuration. */
  onReload(reload: () => void): void;
  /**
   * Called when the worker should close: it was told to, or the process that started it has ended.
   *
   * @param close - Receives `delayMs` for the server's `close`.
   */
  onClose(close: (delayMs: number) => void): void;
}

/** For a process that `superviseWorkers` has started. */
export function joinWorkers(): WorkerLink {
  const waiting = new Set<(reports: readonly StatsReport[]) => void>();
  let own = (): Promise<StatsReport> => Promise.resolve([]);
  let reload = (): void => undefined;
  let close = (_delayMs: number): void => undefined;
  process.on('disconnect', () => {
    close(0);
  });
  process.on('message', (message: ToWorker) => {
    if (message.sluice === 'reload') reload();
    if (message.sluice === 'close') close(message.delayMs);
    if (message.sluice === 'report') {
      void own().then((report) => {
        sendMessage({ sluice: 'report', report });
      });
    }
    if (message.sluice === 'gathered') {
      for (const resolve of waiting) resolve(message.reports);
      waiting.clear();
    }
  });
  return {
    siblings: {
      offer: (read) => (own = read),
      gather: () =>
        new Promise((resolve) => {
          waiting.add(resolve);
          sendMessage({ sluice: 'gather' });
        }),
    },
    ready: (addresses) => {
      sendMessage({ sluice: 'ready', addresses });
    },
    onReload: (listener) => (reload = listener),
    onClose: (listener) => (close = listener),
  };
}

function sendMessage(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}
