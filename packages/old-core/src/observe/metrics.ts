import { register as defaultRegister } from 'prom-client';
import { PolicyError } from '../errors.ts';
import { checkOptions, invalidOption } from '../values/check-options.ts';
import { GaugeReader, isNear } from './gauges.ts';
import { listen } from './listen.ts';
import { METRIC_NAMES, registerMetrics, type AnyRegistry } from './prometheus.ts';

export type { AnyRegistry } from './prometheus.ts';

/** The options of {@link collectMetrics}. */
export interface MetricsOptions {
  /** Where the metrics are registered. Default: the default registry of prom-client. */
  register?: AnyRegistry | undefined;
  /** The beginning of their names. Default `sluice_`. */
  prefix?: string | undefined;
}

/**
 * Registers metrics of all limiters of this process, earlier and later ones, in a registry of prom-client. Labels are
 * names from the configuration and words of fixed lists, never a key, an address or a path. See
 * docs/reference/observability.md for every metric.
 *
 * @returns A function that stops counting and removes the metrics from the registry.
 * @throws PolicyError `SLUICE_OPTION_INVALID` for bad options, and if one of the names is registered already, for
 * example by an earlier call. Then nothing is registered.
 */
export function collectMetrics(options: MetricsOptions = {}): () => void {
  checkOptions(options, ['register', 'prefix'], 'collectMetrics');
  const { register = defaultRegister, prefix = 'sluice_' } = options;
  checkFree(register, prefix);
  const gauges = new GaugeReader();
  const { decisions, durations, storeErrors, transitions, nearLimit } = registerMetrics(register, prefix, gauges);
  const registered = METRIC_NAMES.map((name) => [prefix + name, register.getSingleMetric(prefix + name)] as const);
  const stopListening = listen({
    onDecision(message) {
      gauges.onDecision(message);
      const { limiter, op, decision, durationMs } = message;
      if (op === 'peek') return; // a peek consumes nothing and denies no request
      const { policy, outcome, source } = decision;
      decisions.inc({ limiter, policy, outcome, source });
      if (isNear(decision)) nearLimit.inc({ limiter, policy });
      durations.observe({ limiter, source }, durationMs / 1000);
    },
    onStoreFailure({ limiter, store, kind }) {
      storeErrors.inc({ limiter, store, kind });
    },
    onBreaker(message) {
      gauges.onBreaker(message);
      for (const limiter of message.limiters) transitions.inc({ limiter, state: message.state });
    },
  });
  return () => {
    stopListening();
    for (const [name, metric] of registered) {
      // After `register.clear()` another metric may have this name.
      if (register.getSingleMetric(name) === metric) register.removeSingleMetric(name);
    }
  };
}

function checkFree(register: AnyRegistry, prefix: string): void {
  if (typeof (register as Partial<AnyRegistry> | null)?.getSingleMetric !== 'function') {
    throw invalidOption('register', 'a Registry of prom-client', register);
  }
  if (typeof prefix !== 'string' || !/^([a-zA-Z_:][a-zA-Z0-9_:]*)?$/.test(prefix)) {
    throw invalidOption('prefix', `the beginning of a metric's name, such as "sluice_"`, prefix);
  }
  const registeredName = METRIC_NAMES.find((name) => register.getSingleMetric(prefix + name) !== undefined);
  if (registeredName === undefined) return;
  throw new PolicyError(
    'register',
    `register has ${prefix + registeredName} already: call collectMetrics once per registry and prefix, and call the function it returned before you call it again`,
    'SLUICE_OPTION_INVALID',
  );
}
