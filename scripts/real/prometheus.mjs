// Loads docs/monitoring into a real Prometheus, which scrapes a process that limits, denies and has lost its store:
// every alert rule is valid and is evaluated, and every query of the dashboard returns what it shows. Run
// `npm run build` first.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { findPrometheus } from '../setup/find-prometheus.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const core = createRequire(join(root, 'packages/core/package.json'));
const { createLimiter, fixedWindow, memoryStore } = await import('@sluice/core');
const { collectMetrics } = await import('@sluice/core/metrics');
const { register } = core('prom-client');
const rules = join(root, 'docs/monitoring/alerts.yaml');
const { panels, templating } = JSON.parse(readFileSync(join(root, 'docs/monitoring/grafana-dashboard.json'), 'utf8'));
const LONGEST_MS = 120_000;

const { prometheus, promtool } = findPrometheus();
const folder = mkdtempSync(join(tmpdir(), 'sluice-prometheus-'));
let running;
let address;
let traffic;
const application = createServer(async (_request, response) => response.end(await register.metrics()));

before(async () => {
  collectMetrics();
  traffic = setInterval(limit, 50);
  application.listen(0, '127.0.0.1');
  await once(application, 'listening');
  const config = join(folder, 'prometheus.yml');
  const target = `127.0.0.1:${application.address().port}`;
  const scrape = { job_name: 'app', static_configs: [{ targets: [target] }] };
  const times = { scrape_interval: '1s', evaluation_interval: '1s' };
  writeFileSync(config, JSON.stringify({ global: times, rule_files: [rules], scrape_configs: [scrape] }));
  const port = await freePort();
  address = `http://127.0.0.1:${port}`;
  running = spawn(
    prometheus,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  running.stderr.resume();
});

after(async () => {
  clearInterval(traffic);
  application.close();
  application.closeAllConnections();
  if (running?.exitCode === null) {
    running.kill();
    await once(running, 'exit');
  }
  rmSync(folder, { recursive: true });
});

test('promtool finds nothing wrong with the alert rules', () => {
  const { status, stdout, stderr } = spawnSync(promtool, ['check', 'rules', rules], { encoding: 'utf8' });

  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /SUCCESS: 6 rules found/);
});

test('Prometheus evaluates each alert rule without an error', async () => {
  const evaluated = await until('all rules are evaluated', async () => {
    const { groups } = await ask('/api/v1/rules');
    const all = groups.flatMap((group) => group.rules);
    return all.length === 6 && all.every(({ health }) => health !== 'unknown') ? all : undefined;
  });

  assert.deepEqual([...new Set(evaluated.map(({ health }) => health))], ['ok']);
});

test('each query of the dashboard returns a series with numbers', async () => {
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const query = expr.replaceAll('$__rate_interval', '10s').replaceAll(/\$(limiter|policy|instance)/g, '.*');
      const found = await until(`${title}: ${query}`, async () => {
        const { result } = await ask(`/api/v1/query?query=${encodeURIComponent(query)}`);
        return result.some(({ value }) => Number.isFinite(Number(value[1]))) ? result : undefined;
      });
      assert.ok(found.length > 0);
    }
  }
});

test('each variable of the dashboard has values', async () => {
  for (const { query } of templating.list.filter(({ type }) => type === 'query')) {
    const [, metric, label] = /^label_values\((.*), (\w+)\)$/.exec(query.query);
    const series = metric.replaceAll('$limiter', '.*');
    const values = await ask(`/api/v1/label/${label}/values?match[]=${encodeURIComponent(series)}`);

    assert.ok(values.length > 0, query.query);
  }
});

const policy = fixedWindow({ name: 'burst', limit: 10, window: '1s' });
const counted = createLimiter({ name: 'api', policy });
let isAway = false;
const behind = memoryStore();
const fickle = createLimiter({
  name: 'orders',
  policy,
  store: {
    source: 'redis',
    breaker: { failures: 2, probeEveryMs: 100 },
    async perform(requests) {
      if (isAway) throw new Error('away');
      return behind.perform(requests);
    },
  },
});
let turns = 0;

function limit() {
  isAway = ++turns % 40 > 20;
  for (const limiter of [counted, fickle]) limiter.consume(`client-${turns % 2}`, 2).catch(() => undefined);
}

async function ask(path) {
  const { status, data, error } = await (await fetch(address + path)).json();
  assert.equal(status, 'success', `${path}: ${error}`);
  return data;
}

async function until(what, look) {
  const endMs = performance.now() + LONGEST_MS;
  let failure;
  while (performance.now() < endMs) {
    const found = await look().catch((error) => {
      failure = error;
    });
    if (found !== undefined) return found;
    await sleep(200);
  }
  throw new Error(`not true after ${LONGEST_MS} ms: ${what}`, { cause: failure });
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}
