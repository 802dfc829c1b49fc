import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client';

/** The counts of one process, as data that another can add to its own. */
export type StatsReport = readonly MetricObjectWithValues<MetricValue<string>>[];

/** The processes of one service, which share its listeners: at /metrics, each adds what the others have counted. */
export interface Siblings {
  /** Offers what this process has counted to the others, whenever one asks. */
  offer(own: () => Promise<StatsReport>): void;
  /** The counts of every process, this one included. */
  gather(): Promise<readonly StatsReport[]>;
}

/** The sum of several processes. */
export function sumUp(
  reports: readonly StatsReport[],
): Pick<AggregatorRegistry<never>, 'metrics' | 'getMetricsAsJSON'> {
  return AggregatorRegistry.aggregate([...reports]);
}
