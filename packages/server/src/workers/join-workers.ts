import type { StatsReport } from '../stats/stats-report.ts';
import { isToWorker, SECRET_VARIABLE, type FromWorker } from './messages.ts';
import type { Siblings } from '../stats/siblings.ts';

/** The link of a worker to the process that started it. */
export interface WorkerLink {
  /** The option `siblings` of `createServer`. */
  readonly siblings: Siblings;
  /** Tells that the listeners accept connections. */
  ready(addresses: Readonly<Partial<Record<string, string>>>): void;
  /** Called when the worker is to read its configuration. */
  onReload(reload: () => void): void;
  /**
   * Called when the worker is to close: it was told to, or the process that has started it has ended.
   *
   * @param close - Gets `delayMs` for `close` of the server.
   */
  onClose(close: (delayMs: number) => void): void;
}

/** How long a worker waits for what the others have counted: longer than the process that asks them does. */
const LONGEST_MS = 2_000;

/** For a process that `superviseWorkers` has started. */
export function joinWorkers(): WorkerLink {
  const waiting = new Map<number, (reports: readonly StatsReport[]) => void>();
  let own: (() => Promise<StatsReport>) | undefined;
  let reload: (() => void) | undefined;
  let close: ((delayMs: number) => void) | undefined;
  let nextId = 0;
  const { [SECRET_VARIABLE]: secret } = process.env;
  Reflect.deleteProperty(process.env, SECRET_VARIABLE); // programs that the worker starts do not get it
  process.on('disconnect', () => close?.(0));
  process.on('message', (message) => {
    if (!isToWorker(message)) return;
    switch (message.sluice) {
      case 'reload':
        reload?.();
        break;
      case 'close':
        close?.(message.delayMs);
        break;
      case 'gathered':
        waiting.get(message.id)?.(message.reports);
        break;
      case 'report':
        void own?.().then((report) => {
          tell({ sluice: 'report', id: message.id, report });
        });
    }
  });
  return {
    siblings: {
      secret,
      offer: (read) => {
        own = read;
        return () => {
          own = undefined;
        };
      },
      gather: async () => {
        const id = nextId++;
        const gathered = new Promise<readonly StatsReport[] | undefined>((resolve) => {
          waiting.set(id, resolve);
          setTimeout(resolve, LONGEST_MS, undefined).unref();
        });
        tell({ sluice: 'gather', id });
        const reports = await gathered;
        waiting.delete(id);
        return reports ?? (own === undefined ? [] : [await own()]);
      },
    },
    ready: (addresses) => {
      tell({ sluice: 'ready', addresses: addresses as Record<string, string> });
    },
    onReload: (listener) => (reload = listener),
    onClose: (listener) => (close = listener),
  };
}

function tell(message: FromWorker): void {
  if (process.connected) process.send?.(message);
}
