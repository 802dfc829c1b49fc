import { LimiterCore } from '@sluice/core/spi';
import { loadConfiguration } from './config/load-configuration.ts';
import { makeLimitMaker } from './limits.ts';
import { parseServerOptions, type ServerOptions } from './options.ts';
import { openStore } from './store.ts';
import { readTls } from './transport/certificates.ts';

/** The contents of a configuration. */
export interface CheckedConfiguration {
  readonly domains: number;
  readonly limits: number;
  readonly forwardAuthRules: number;
  readonly sentinelRules: number;
}

/**
 * Reads the configuration and the certificates as `createServer` with these options would. Listens nowhere and sends
 * nothing to Redis.
 *
 * @returns How many domains, named limits, rules of forward auth and rules of Sentinel it has.
 * @throws (rejects) as `createServer`: SluiceError for options, ConfigurationError, what cannot be read.
 */
export async function checkConfiguration(options: ServerOptions): Promise<CheckedConfiguration> {
  const settings = parseServerOptions(options);
  if (settings.tls !== undefined) readTls(settings.tls);
  const opened = openStore(settings);
  const core = new LimiterCore({ name: 'service', store: opened.store, app: settings.app, shared: true });
  try {
    const { domains, limits, forwardAuth, sentinel } = await loadConfiguration(settings.config, {
      makeLimit: makeLimitMaker(core),
    });
    return {
      domains: domains.size,
      limits: limits.size,
      forwardAuthRules: forwardAuth?.rules.length ?? 0,
      sentinelRules: sentinel.flows.size + sentinel.params.size,
    };
  } finally {
    await core.close();
    await opened.close();
  }
}
