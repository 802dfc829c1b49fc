import { metrics, type Attributes, type MeterProvider, type ObservableGauge } from '@opentelemetry/api';
import { PolicyError } from '../errors.ts';
import { optional, readOptions, valueThat, type Optional, type Options } from '../values/shape.ts';
import { measure } from './measure.ts';
import { DECISION_SECONDS, METRICS, type Label, type Labels } from './metric-list.ts';

const OPEN_TELEMETRY_OPTIONS = {
  /** The provider of the meter. Default: the global one, which the SDK registers when it starts. */
  meterProvider: optional(
    valueThat<MeterProvider>(
      (given) => typeof (given as Partial<MeterProvider> | null)?.getMeter === 'function',
      'a MeterProvider of OpenTelemetry',
    ),
  ) as Optional<MeterProvider>,
};

/** The options of {@link reportToOpenTelemetry}. */
export interface OpenTelemetryOptions extends Options<typeof OPEN_TELEMETRY_OPTIONS> {}

const ATTRIBUTES: Readonly<Record<Label, string>> = {
  limiter: 'sluice.limiter',
  policy: 'sluice.policy',
  outcome: 'sluice.outcome',
  source: 'sluice.source',
  store: 'sluice.store',
  kind: 'error.type',
  state: 'sluice.breaker.state',
};

const reporting = new WeakSet<MeterProvider>();

/**
 * Reports metrics of all limiters of this process, earlier and later ones, to OpenTelemetry. Attributes are names from the
 * configuration and words of fixed lists, never a key, an address or a path. See docs/reference/observability.md for every
 * instrument.
 *
 * Call it after the SDK has started: a meter that is created earlier measures nothing.
 *
 * @returns A function that stops the reports.
 * @throws PolicyError `SLUICE_OPTION_INVALID` for bad options, and if an earlier call reports to this provider.
 */
export function reportToOpenTelemetry(options: OpenTelemetryOptions = {}): () => void {
  const { meterProvider = metrics.getMeterProvider() } = readOptions(
    options,
    OPEN_TELEMETRY_OPTIONS,
    'reportToOpenTelemetry',
  );
  if (reporting.has(meterProvider)) {
    throw new PolicyError(
      'meterProvider',
      'meterProvider already receives reports: call reportToOpenTelemetry once per provider, and call the function it returned before you call it again',
      'SLUICE_OPTION_INVALID',
    );
  }
  reporting.add(meterProvider);
  const meter = meterProvider.getMeter('@sluice/core');
  const events = new Map<string, (value: number, attributes: Attributes) => void>();
  const gauges = new Map<string, ObservableGauge>();
  for (const { id, kind, help: description } of METRICS) {
    const name = `sluice.${id}`;
    if (kind === 'gauge') {
      gauges.set(id, meter.createObservableGauge(name, { description }));
    } else if (kind === 'counter') {
      const counter = meter.createCounter(name, { description });
      events.set(id, counter.add.bind(counter));
    } else {
      const advice = { explicitBucketBoundaries: [...DECISION_SECONDS] };
      const histogram = meter.createHistogram(name, { description, unit: 's', advice });
      events.set(id, histogram.record.bind(histogram));
    }
  }
  const measurement = measure((id, labels, value) => events.get(id)?.(value, toAttributes(labels)));
  const observables = [...gauges.values()];
  const observe: Parameters<typeof meter.addBatchObservableCallback>[0] = (result) => {
    measurement.readGauges((id, labels, value) => {
      const gauge = gauges.get(id);
      if (gauge !== undefined) result.observe(gauge, value, toAttributes(labels));
    });
  };
  meter.addBatchObservableCallback(observe, observables);
  return () => {
    measurement.stop();
    meter.removeBatchObservableCallback(observe, observables);
    reporting.delete(meterProvider);
  };
}

function toAttributes(labels: Labels): Attributes {
  const attributes: Attributes = {};
  for (const [label, value] of Object.entries(labels)) attributes[ATTRIBUTES[label as Label]] = value;
  return attributes;
}
