import { createApi } from './api.ts';
import { ClientStatistics } from './client-statistics.ts';
import { DecisionStatistics } from './decision-statistics.ts';
import { demoStore, type DemoStore } from './demo-store.ts';
import { TARGET_ACCOUNT } from './ill-behaved.ts';
import { renderLine } from './line.ts';
import type { Run } from './run.ts';
import { serve } from './server.ts';
import { readSettings, type Settings } from './settings.ts';
import { SharedBudget } from './shared-budget.ts';
import { showLive, showProgress } from './show.ts';
import { StartError } from './start-error.ts';
import { untilStopped } from './stop-signal.ts';
import { summaryLines } from './summary.ts';
import { startTraffic } from './traffic.ts';

const LONGEST_CLOSE_MS = 2000;

// Whoever reads the output may have seen enough: `npm start | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

try {
  await main();
} catch (error) {
  if (!(error instanceof StartError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function main(): Promise<void> {
  const settings = readSettings(process.env, process.stdout.isTTY);
  const demo = demoStore(settings.redisUrl);
  const [decisions, clients] = [new DecisionStatistics(), new ClientStatistics()];
  const targetBudget = new SharedBudget('account', demo.store.source);
  const api = createApi(demo.store, (decision, key, tookMs) => {
    decisions.record(decision, tookMs);
    if (typeof key === 'object' && key['account'] === TARGET_ACCOUNT) targetBudget.record(decision);
  });
  const server = await serve(api, settings.port);
  try {
    await tellStore(demo);
    const onRedis = settings.redisUrl !== undefined;
    const startedAtMs = performance.now();
    await runTraffic(
      { url: server.url, storeLabel: demo.label, onRedis, startedAtMs, decisions, clients, targetBudget },
      settings,
    );
  } finally {
    // A Redis that takes connections and answers nothing would keep the store from closing.
    setTimeout(() => process.exit(), LONGEST_CLOSE_MS).unref();
    await server.close();
    await demo.close();
  }
}

async function runTraffic(run: Run, { durationMs, live, color }: Settings): Promise<void> {
  const stopped = untilStopped(durationMs);
  const stopShowing = live ? showLive(run, process.stdout, color) : showProgress(run, console.log);
  const traffic = startTraffic(run.url, run.clients);
  await stopped;
  stopShowing();
  await traffic.stop();
  const columns = live ? process.stdout.columns : 0;
  for (const line of summaryLines(run, false, columns)) console.log(renderLine(line, color));
}

async function tellStore(demo: DemoStore): Promise<void> {
  const trouble = await demo.check();
  if (trouble === undefined) return;
  console.error(
    `Redis cannot be reached: asked ${demo.label} for a decision, and got: ${trouble}\n` +
      'Going on: decisions fall back to the memory of this process, by the same rules, until Redis answers.',
  );
}
