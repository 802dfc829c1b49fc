import { createPolicies } from '@sluice/core/managed';
import { LimiterCore } from '@sluice/core/spi';
import { buildConfiguration, type Configuration } from '../../src/config/configuration.ts';
import { ConfigurationError } from '../../src/config/configuration-error.ts';
import type { Match } from '../../src/config/rule-node.ts';
import type { DescriptorEntry } from '../../src/config/subject.ts';
import type { MakeLimit } from '../../src/limits.ts';
import { readConfiguration, type ConfigurationFile } from '../../src/config/read-configuration.ts';

const core = new LimiterCore({
  name: 'service',
  app: 'service',
  policies: createPolicies({ load: () => Promise.resolve({}) }),
});

/** As the service does it, over memory. */
export const makeLimit: MakeLimit = (policy) => core.limitFor(policy);

export function read(text: string): Configuration {
  return readAll([{ path: 'limits.yaml', text }]);
}

export function readAll(files: readonly ConfigurationFile[]): Configuration {
  return buildConfiguration(readConfiguration(files), makeLimit);
}

/** What is wrong with a text, one `line:column: message` each. */
export function problemsOf(text: string): readonly string[] {
  try {
    read(text);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems.map(({ line, column, message }) => `${String(line)}:${String(column)}: ${message}`);
  }
  return [];
}

/** Entries written `key=value`. */
export function entriesOf(written: readonly string[]): readonly DescriptorEntry[] {
  return written.map((entry) => {
    const [key = '', ...rest] = entry.split('=');
    return { key, value: rest.join('=') };
  });
}

/** @param written - Entries as `key=value`. */
export function match(configuration: Configuration, domain: string, ...written: readonly string[]): Match | undefined {
  return configuration.domains.get(domain)?.match(entriesOf(written));
}

/** What `rate_limit` of the matching rule says, such as `20/minute`. */
export function rateOf(configuration: Configuration, domain: string, ...written: readonly string[]): string {
  const found = match(configuration, domain, ...written);
  if (found === undefined) return 'no rule';
  const { limit, rateLimit } = found.rule;
  if (limit === undefined) return 'unlimited';
  return rateLimit === undefined ? 'sluice' : `${String(rateLimit.requestsPerUnit)}/${rateLimit.unit}`;
}
