import type { StatsReport } from './stats-report.ts';

/**
 * The processes of one service, which share its listeners: each adds what the others have counted at /metrics and
 * /stats, and opens what another has sealed.
 */
export interface Siblings {
  /** Signs what clients keep for the service where it has no token. Undefined: each process makes a secret of its own. */
  readonly secret: string | undefined;
  /**
   * Gives the others what this process has counted, whenever one of them asks.
   *
   * @returns A function that ends this.
   */
  offer(own: () => Promise<StatsReport>): () => void;
  /** The counts of every process, this one included. A process that does not answer in a second is left out. */
  gather(): Promise<readonly StatsReport[]>;
}
