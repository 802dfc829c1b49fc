import type { StatsReport } from '../stats/siblings.ts';

/** The messages of a worker to the process that started it: it is ready; it asks for all counts; it reports its own. */
export type FromWorker =
  | { readonly sluice: 'ready'; readonly addresses: Readonly<Partial<Record<string, string>>> }
  | { readonly sluice: 'gather' }
  | { readonly sluice: 'report'; readonly report: StatsReport };

/** The messages to the workers. */
export type ToWorker =
  | { readonly sluice: 'report' }
  | { readonly sluice: 'gathered'; readonly reports: readonly StatsReport[] }
  | { readonly sluice: 'reload' }
  | { readonly sluice: 'close'; readonly delayMs: number };
