import {
  Counter,
  Gauge,
  Histogram,
  register as defaultRegister,
  type GaugeConfiguration,
  type OpenMetricsContentType,
  type Registry,
} from 'prom-client';
import { PolicyError } from '../errors.ts';
import { readOptions, valueThat, withDefault, type Options, type WithDefault } from '../values/shape.ts';
import { measure, type Measurement } from './measure.ts';
import { DECISION_SECONDS, METRICS, type Label, type Labels } from './metric-list.ts';

/** A registry of prom-client, of either format. */
export type AnyRegistry = Registry | Registry<OpenMetricsContentType>;

const UNITS = { counter: '_total', histogram: '_seconds', gauge: '' };

const hasMetrics = (given: unknown): boolean =>
  typeof (given as Partial<AnyRegistry> | null)?.getSingleMetric === 'function';
const isNamePrefix = (given: unknown): boolean =>
  typeof given === 'string' && /^([a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(given);

const METRICS_OPTIONS = {
  /** Where the metrics are registered. Default: the default registry of prom-client. */
  register: withDefault(
    valueThat<AnyRegistry>(hasMetrics, 'a Registry of prom-client'),
    defaultRegister,
  ) as WithDefault<AnyRegistry>,
  /** The prefix of their names. Default `sluice_`. */
  prefix: withDefault(
    valueThat<string>(isNamePrefix, `the beginning of a metric's name, such as "sluice_"`),
    'sluice_',
  ) as WithDefault<string>,
};

/** The options of {@link collectMetrics}. */
export interface MetricsOptions extends Options<typeof METRICS_OPTIONS> {}

/**
 * Registers metrics of all limiters of this process, including later ones, in a registry of prom-client. Labels are
 * names from the configuration and words from fixed lists, never a key, an address or a path. See
 * docs/reference/observability.md for all metrics.
 *
 * @returns A function that stops counting and removes the metrics from the registry.
 * @throws PolicyError `SLUICE_OPTION_INVALID` for bad options, and if one of the names is registered already, for
 * example by an earlier call. Then nothing is registered.
 */
export function collectMetrics(options: MetricsOptions = {}): () => void {
  const { register, prefix } = readOptions(options, METRICS_OPTIONS, 'collectMetrics');
  const names = METRICS.map(({ kind, id }) => prefix + id.replace('.', '_') + UNITS[kind]);
  const taken = names.find((name) => register.getSingleMetric(name) !== undefined);
  if (taken !== undefined) {
    throw new PolicyError(
      'register',
      `register already has ${taken}: call collectMetrics once per registry and prefix, and call the function it returned before you call it again`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const events = new Map<string, (labels: Labels, value: number) => void>();
  const measurement = measure((id, labels, value) => events.get(id)?.(labels, value));
  for (const [i, { id, kind, help, labels }] of METRICS.entries()) {
    const common = { name: names[i] as string, help, labelNames: labels, registers: [register] };
    if (kind === 'gauge') {
      registerGauge(id, common, measurement);
    } else if (kind === 'counter') {
      const counter = new Counter(common);
      events.set(id, counter.inc.bind(counter));
    } else {
      const histogram = new Histogram({ ...common, buckets: [...DECISION_SECONDS] });
      events.set(id, histogram.observe.bind(histogram));
    }
  }
  const registered = names.map((name) => [name, register.getSingleMetric(name)] as const);
  return () => {
    measurement.stop();
    for (const [name, metric] of registered) {
      // After `register.clear()` another metric may have this name.
      if (register.getSingleMetric(name) === metric) register.removeSingleMetric(name);
    }
  };
}

function registerGauge(id: string, common: GaugeConfiguration<Label>, measurement: Measurement): void {
  const gauge = new Gauge({
    ...common,
    collect() {
      gauge.reset(); // closed limiters disappear
      measurement.readGauges((read, labels, value) => {
        if (read === id) gauge.set(labels, value);
      });
    },
  });
}
