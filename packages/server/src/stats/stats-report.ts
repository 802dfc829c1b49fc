import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client';

/** The counts of one process, as data that another process can add to its own. */
export type StatsReport = readonly MetricObjectWithValues<MetricValue<string>>[];

/** The sum of several processes. */
export async function mergedReport(reports: readonly StatsReport[]): Promise<StatsReport> {
  return AggregatorRegistry.aggregate([...reports]).getMetricsAsJSON();
}

/** The counts of a process that has ended: all but its gauges. */
export function retiredReport(report: StatsReport): StatsReport {
  return report.filter(({ type }) => (type as unknown) !== 'gauge');
}

/** In the format of Prometheus. */
export async function writtenMetrics(reports: readonly StatsReport[]): Promise<string> {
  return AggregatorRegistry.aggregate([...reports]).metrics();
}

const RULE_COUNTER = /^sluice_rule_(\w+)_total$/;
const LOADS = /^sluice_(config_load_(?:success|error))_total$/;

/** One counter a line, as `/stats` of envoyproxy/ratelimit writes them. */
export async function writtenStats(reports: readonly StatsReport[]): Promise<string> {
  const lines = (await mergedReport(reports)).flatMap(({ name, values }) => {
    const counter = RULE_COUNTER.exec(name)?.[1];
    const loads = LOADS.exec(name)?.[1];
    return values.flatMap(({ labels, value }) => {
      if (loads !== undefined) return [`ratelimit.service.${loads}: ${String(value)}`];
      if (counter === undefined) return [];
      return [`ratelimit.service.rate_limit.${String(labels['rule'])}.${counter}: ${String(value)}`];
    });
  });
  return `${lines.sort().join('\n')}\n`;
}
