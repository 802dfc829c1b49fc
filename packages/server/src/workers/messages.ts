import type { StatsReport } from '../stats/stats-report.ts';

/** The environment variable by which a worker gets the secret of all workers. */
export const SECRET_VARIABLE = 'SLUICE_WORKERS_SECRET';

/** The messages of a worker to the process that started it. */
export type FromWorker =
  | { readonly sluice: 'ready'; readonly addresses: Readonly<Record<string, string>> }
  | { readonly sluice: 'gather'; readonly id: number }
  | { readonly sluice: 'report'; readonly id: number; readonly report: StatsReport };

/** The messages to the workers. */
export type ToWorker =
  | { readonly sluice: 'report'; readonly id: number }
  | { readonly sluice: 'gathered'; readonly id: number; readonly reports: readonly StatsReport[] }
  | { readonly sluice: 'reload' }
  | { readonly sluice: 'close'; readonly delayMs: number };

/** Whether a message comes from a worker, about this: others may use the channel too. */
export function isFromWorker(message: unknown): message is FromWorker {
  return isOurs(message);
}

/** Whether a message is for a worker, about this. */
export function isToWorker(message: unknown): message is ToWorker {
  return isOurs(message);
}

function isOurs(message: unknown): boolean {
  return typeof (message as { readonly sluice?: unknown } | null)?.sluice === 'string';
}
