import { afterAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Registry, type MetricObject } from 'prom-client';
import { collectMetrics } from '../../src/observe/metrics.ts';

const read = (name: string): string =>
  readFileSync(new URL(`../../../../docs/monitoring/${name}`, import.meta.url), 'utf8');
const register = new Registry();
const stop = collectMetrics({ register });
afterAll(stop);

/** The names of metrics in a text, without what a histogram adds. */
const metricsIn = (text: string): readonly string[] =>
  [...new Set(text.match(/(?<!#)\bsluice_\w+/g))].map((name) => name.replace(/_(bucket|sum|count)$/, ''));
const known = register.getMetricsAsArray() as readonly MetricObject[];
const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
  templating: { list: { name: string; query: string | { query: string } }[] };
  panels: { targets: { expr: string }[] }[];
};
const queries = [
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...dashboard.templating.list.map(({ query }) => (typeof query === 'string' ? query : query.query)),
];

describe.each([
  ['the dashboard', queries.join('\n')],
  ['the alerts', read('alerts.yaml')],
  ['the guide', read('../guides/monitoring.md')],
])('%s', (_name, text) => {
  it('names metrics that exist', () => {
    const names = known.map(({ name }) => name);

    expect(metricsIn(text).length).toBeGreaterThan(0);
    expect(metricsIn(text).filter((name) => !names.includes(name))).toEqual([]);
  });

  it('names labels that these metrics have', () => {
    const unknown = [...text.matchAll(/\b(sluice_\w+)\{([^}]*)\}/g)].flatMap(([, name = '', labels = '']) => {
      const [of] = known.filter((metric) => metricsIn(name).includes(metric.name));
      const has = [...(of as unknown as { labelNames: string[] }).labelNames, 'instance', 'le'];
      return [...labels.matchAll(/(\w+)=~?"/g)].map(([, label]) => label).filter((label) => !has.includes(label ?? ''));
    });

    expect(unknown).toEqual([]);
  });
});

describe('the dashboard', () => {
  it('shows every metric', () => {
    expect(known.map(({ name }) => name).filter((name) => !metricsIn(queries.join('\n')).includes(name))).toEqual([]);
  });

  it('uses every variable that it has, and has every one that it uses', () => {
    const used = new Set(queries.join('\n').match(/\$(limiter|policy|instance)\b/g));

    expect([...used].toSorted()).toEqual(['$instance', '$limiter', '$policy']);
    expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'limiter', 'policy', 'instance']);
  });
});
