import { createApi } from './api/api.ts';
import { serve } from './api/server.ts';
import { demoStore, type DemoStore } from './api/store.ts';
import { TARGET_ACCOUNT } from './clients/behaviours.ts';
import { startTraffic } from './clients/traffic.ts';
import { readSettings, SettingError, type Settings } from './settings.ts';
import { ClientStatistics, DecisionStatistics } from './statistics/counts.ts';
import { SharedBudget } from './statistics/shared-budget.ts';
import { showLive, showProgress } from './terminal/display.ts';
import { summaryLines, type Run } from './terminal/summary.ts';
import { renderLine } from './terminal/text.ts';

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
const INSISTED_AFTER_MS = 1000;

// The reader of a pipe may close it early: `npm start | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

try {
  await main();
} catch (error) {
  if (!(error instanceof SettingError)) throw error;
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
    await server.close();
    await demo.close();
  }
}

async function tellStore(demo: DemoStore): Promise<void> {
  const trouble = await demo.check();
  if (trouble === undefined) return;
  console.error(
    `Redis cannot be reached: asked ${demo.label} for a decision, and got: ${trouble}\n` +
      'Going on: decisions fall back to the memory of this process, by the same rules, until Redis answers.',
  );
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

/**
 * Resolves when the time ends, or on Ctrl-C. Another Ctrl-C more than a second later ends the process at once. An
 * earlier one is a duplicate, because npm forwards the signal that this process has received already.
 */
async function untilStopped(durationMs: number | undefined): Promise<void> {
  await new Promise<void>((resolve) => {
    let stoppedAtMs: number | undefined;
    const stop = (): void => {
      stoppedAtMs ??= performance.now();
      clearTimeout(timer);
      resolve();
    };
    const timer = durationMs === undefined ? undefined : setTimeout(stop, durationMs);
    for (const [signal, exitCode] of Object.entries(EXIT_CODES)) {
      process.on(signal, () => {
        if (performance.now() - (stoppedAtMs ?? Infinity) > INSISTED_AFTER_MS) process.exit(exitCode);
        stop();
      });
    }
  });
}
