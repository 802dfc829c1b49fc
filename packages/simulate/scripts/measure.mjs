// Measures `sluice simulate`: lines a second on one core, by the time that the process has used, for a plain file and more
// candidates and reports; and the memory while ten million lines pass. Run `npm run build` first.
//
//   node packages/simulate/scripts/measure.mjs [speed|memory]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { logBlocks, writeLog } from './generate-log.mjs';

const SLUICE = fileURLToPath(new URL('../../cli/dist/main.js', import.meta.url));
const MAIN = process.argv[2];
const LINES = Number(process.env['LINES'] ?? 3_000_000);
const FIXED = ['--policy', 'fixedWindow --limit 100 --window 1m'];
const CANDIDATES = [
  ['--policy', 'slidingWindow --limit 100 --window 1m'],
  ['--policy', 'tokenBucket --capacity 100 --refill 5 --every 1s'],
  [
    '--policy',
    'fixedWindow --limit 100 --window 1m --name own + fixedWindow --limit 10000 --window 1m --name all --key all',
  ],
];
const RUNS = {
  'combined, by ip, one fixedWindow, text': FIXED,
  'no candidate': [],
  ...Object.fromEntries(CANDIDATES.map((flags) => [`and ${flags[1]}`, [...FIXED, ...flags]])),
  'JSON report': [...FIXED, '--json'],
  'HTML report': [...FIXED, '--html', '/dev/null'],
  '--retry': [...FIXED, '--retry'],
  'by ip and route': [...FIXED, '--key', 'ip,route'],
};
const folder = mkdtempSync(join(tmpdir(), 'sluice-measure-'));
try {
  if (MAIN !== 'memory') await speed();
  if (MAIN !== 'speed') await memory();
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function speed() {
  const log = join(folder, 'access.log');
  await writeLog(log, { lines: LINES, seconds: 86_400 });
  for (const [name, flags] of Object.entries(RUNS)) {
    // The first run reads the file into the cache of the system.
    const runs = [];
    for (let i = 0; i < Number(process.env['RUNS'] ?? 3); i++) runs.push(await timed([log, ...flags]));
    const best = Math.min(...runs.map(({ cpuS }) => cpuS));
    const wall = Math.min(...runs.map(({ wallS }) => wallS));
    console.log(
      `${name}: ${Math.round(LINES / best / 1000)}k lines a second of one core (${best.toFixed(1)} s, start-up included; ${wall.toFixed(1)} s by the clock)`,
    );
  }
}

/** On one core: also what the garbage collector does beside is counted. */
async function timed(args) {
  const startMs = performance.now();
  const child = spawn('taskset', ['-c', '1', process.execPath, SLUICE, 'simulate', ...args], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let ticks = 0;
  const timer = setInterval(() => (ticks = cpuTicks(child.pid) ?? ticks), 20);
  await once(child, 'exit');
  clearInterval(timer);
  return { cpuS: ticks / 100, wallS: (performance.now() - startMs) / 1000 };
}

function cpuTicks(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return undefined;
  }
}

async function memory() {
  const lines = 10_000_000;
  const child = spawn(process.execPath, [SLUICE, 'simulate', '-', ...FIXED], { stdio: ['pipe', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk) => (text += chunk));
  let written = 0;
  const samples = [];
  // A heavy tail: three in ten lines are of clients that come once.
  for (const block of logBlocks({ lines, seconds: 30 * 86_400, newShare: 0.3 })) {
    if (!child.stdin.write(block)) await once(child.stdin, 'drain');
    written += 10_000;
    if (written % 1_000_000 === 0) {
      const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
      samples.push(Math.round(rss));
      console.log(`after ${written / 1e6} million lines: ${Math.round(rss)} MiB`);
    }
  }
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
  child.stdin.end();
  await once(child, 'close');
  console.log(
    `at most ${Math.round(peak)} MiB; between 3 and 10 million lines from ${Math.min(...samples.slice(2))} to ${Math.max(...samples.slice(2))} MiB`,
  );
  console.log(text.split('\n').slice(0, 8).join('\n'));
}
