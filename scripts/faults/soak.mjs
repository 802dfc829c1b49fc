// Checks that nothing grows: an Express server runs under steady load with ever new keys, and its limit is in a Redis
// that hangs, dies, flaps and recovers at random. Every second the script samples the memory of the process (after a
// collection), the keys in Redis and in the process, and the pending calls of the client library. It draws
// docs/plots/soak.svg, and exits with 1 when something was not flat. Run `npm run build` first.
//
//   node scripts/faults/soak.mjs [--minutes 10] [--seed 1] [--out docs/plots/soak.svg]
//
// Flat means, over the second half of the run, where the first has filled the pools and caches:
// - the heap rises by no more than 3 MB, by its slope (least squares), and the whole process by no more than 10 %,
//   because the allocator keeps memory that it once had;
// - no sample has more keys in Redis than were used within their window and a minute, and all of them expire;
// - no call is pending after the last fault has ended.
// And no request has failed.
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { built } from './built.mjs';
import { Child } from './children.mjs';
import { now, sleep } from './clock.mjs';
import { slope, table } from './figures.mjs';
import { passing, situations, startPlace } from './situations.mjs';
import { lines } from '../plots/lines.mjs';

const { seeded } = await built('testkit/dist/random.js');

const RATE = 200;
const LIMIT = 20;
const WINDOW_MS = 10_000;
/** A key expires no later than this after its units are all back. */
const LINGERS_MS = 60_000;
const KEY_HEADER = 'x-client';
const HEAP_RISE = 3e6;
const RSS_RISE = 0.1;

const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string', default: 'docs/plots/soak.svg' },
  },
});
const seconds = Number(given.minutes) * 60;
const random = seeded(Number(given.seed));

const place = await startPlace();
const app = new Child(
  new URL('./app.mjs', import.meta.url),
  { url: place.url('proxy'), limit: LIMIT, windowMs: WINDOW_MS, timeoutMs: 100, keyHeader: KEY_HEADER },
  { execArgv: ['--expose-gc'] },
);
const ports = [await app.ask({ what: 'port' })];
const load = new Child(new URL('./load.mjs', import.meta.url), {
  ports,
  rate: RATE,
  keyHeader: KEY_HEADER,
  keys: { atOnce: 300, turnover: 0.1 },
});

await load.ask({ what: 'start' });
const startedAt = now();
const secondsNow = () => (now() - startedAt) / 1000;
const bands = [];
const faults = goWrong();
const { samples, seen } = await watch();
await faults;
await sleep(3000);
await note(await load.ask({ what: 'stop' }), seen);
const last = await app.ask({ what: 'sample' });
await Promise.all([app.end(), load.end()]);
await place.end();

report();

/** One fault after the other, with some seconds between them and half a minute without faults at the end. */
async function goWrong() {
  for (;;) {
    await sleep(random.integer(2000, 8000));
    const lastsMs = random.integer(500, 4500);
    if (secondsNow() + lastsMs / 1000 > seconds - Math.min(30, seconds / 4)) return;
    const name = random.pick(passing);
    const from = secondsNow();
    await situations[name].run(place, lastsMs);
    bands.push({ name, from, to: secondsNow() });
  }
}

async function watch() {
  const looks = [];
  const seenUntilNow = { requests: 0, errors: 0, longestMs: 0, keys: new Map(), all: new Set(), local: 0 };
  while (secondsNow() < seconds) {
    await sleep(1000 - ((now() - startedAt) % 1000));
    const at = secondsNow();
    const [sample, inRedis, taken] = await Promise.all([
      app.ask({ what: 'sample' }),
      keysInRedis(),
      load.ask({ what: 'take' }),
    ]);
    note(taken, seenUntilNow);
    looks.push({ at, ...sample, ...inRedis, mayBeInRedis: seenUntilNow.keys.size });
  }
  return { samples: looks, seen: seenUntilNow };
}

function note({ rows }, all) {
  for (const { status, waitMs, key, dueAt, source } of rows) {
    all.requests++;
    if (status !== 200 && status !== 429) all.errors++;
    if (source === 'local') all.local++;
    all.longestMs = Math.max(all.longestMs, waitMs);
    all.keys.delete(key); // to the end of the map
    all.keys.set(key, dueAt + waitMs);
    all.all.add(key);
  }
  const fromAt = now() - WINDOW_MS - LINGERS_MS - 2000;
  for (const [key, at] of all.keys) {
    if (at >= fromAt) break;
    all.keys.delete(key);
  }
}

/** Empty while Redis does not reply. */
async function keysInRedis() {
  try {
    const info = await Promise.race([place.admin.info('keyspace'), sleep(300).then(() => undefined)]);
    if (info === undefined) return {};
    const [, keys = '0', expires = '0'] = /keys=(\d+),expires=(\d+)/.exec(info) ?? [];
    return { keys: Number(keys), expires: Number(expires) };
  } catch {
    return {};
  }
}

function report() {
  const half = samples.filter(({ at }) => at >= seconds / 2);
  const rise = (pick) => slope(half.map((sample) => ({ x: sample.at, y: pick(sample) }))) * (seconds / 2);
  const mean = (pick) => half.reduce((sum, sample) => sum + pick(sample), 0) / half.length;
  const most = (pick, of = samples) => Math.max(...of.map((sample) => pick(sample) ?? 0));
  const counted = samples.filter(({ keys }) => keys !== undefined);
  const mb = (bytes) => (bytes / 1e6).toFixed(1);
  const rises = { heap: rise(({ heapUsed }) => heapUsed), rss: rise(({ rss }) => rss) };
  const holds = [
    [`${seen.errors} of ${seen.requests} requests failed`, seen.errors === 0],
    [`the heap rose by ${mb(rises.heap)} MB in the second half`, rises.heap <= HEAP_RISE],
    [
      `the process rose by ${mb(rises.rss)} MB (of ${mb(mean(({ rss }) => rss))}) in the second half`,
      rises.rss <= RSS_RISE * mean(({ rss }) => rss),
    ],
    [
      `never more keys in Redis than may be there (most: ${most(({ keys }) => keys)} of ${seen.all.size} that ever were)`,
      counted.every(({ keys, mayBeInRedis }) => keys <= mayBeInRedis + 1), // and the probe's own
    ],
    ['all keys expire', counted.every(({ keys, expires }) => keys === expires)],
    [
      `${last.unanswered} calls are unanswered when all is healed (most: ${most(({ unanswered }) => unanswered)})`,
      last.unanswered === 0,
    ],
  ];
  console.log(
    `${given.minutes} minutes, ${RATE} requests a second, ${bands.length} faults, seed ${given.seed}, Node ${process.version}; ` +
      `${seen.local} decisions were made locally, the longest wait was ${seen.longestMs.toFixed(0)} ms\n`,
  );
  const row = (name, pick, unit) => {
    const quarter = (i) => samples.filter(({ at }) => at >= (i * seconds) / 4 && at < ((i + 1) * seconds) / 4);
    const meanOf = (of) => of.reduce((sum, sample) => sum + pick(sample), 0) / of.length;
    return [
      name,
      ...[0, 1, 2, 3].map((i) => (meanOf(quarter(i).filter((s) => pick(s) !== undefined)) / unit).toFixed(1)),
    ];
  };
  console.log(
    table([
      ['mean of', '1st quarter', '2nd', '3rd', '4th'],
      row('heap, MB', ({ heapUsed }) => heapUsed, 1e6),
      row('process, MB', ({ rss }) => rss, 1e6),
      row('keys in Redis', ({ keys }) => keys, 1),
      row('keys in the process', ({ keysInMemory }) => keysInMemory, 1),
      row('unanswered calls', ({ unanswered }) => unanswered, 1),
    ]),
  );
  console.log('');
  for (const [what, isSo] of holds) console.log(`${isSo ? 'holds ' : 'MISSED'}  ${what}`);
  const line = (name, pick) => ({ name, points: samples.map((sample) => [sample.at / 60, pick(sample)]) });
  writeFileSync(
    given.out,
    lines({
      title: `${RATE} requests a second for ${given.minutes} minutes; shaded: Redis was hung, killed, unreachable, slow, flapping or paused`,
      x: { domain: [0, seconds / 60], ticks: 10, label: 'minutes' },
      bands: bands.map(({ from, to }) => ({ from: from / 60, to: to / 60 })),
      panels: [
        {
          title: 'Memory of the process, MB',
          lines: [
            line('whole process', ({ rss }) => rss / 1e6),
            line('heap after collection', ({ heapUsed }) => heapUsed / 1e6),
          ],
        },
        {
          title: 'Keys',
          lines: [line('in Redis', ({ keys }) => keys), line('in the stand-in', ({ keysInMemory }) => keysInMemory)],
        },
        {
          title: 'Calls without an answer',
          lines: [line('of the client library', ({ unanswered }) => unanswered)],
        },
      ],
    }),
  );
  process.exitCode = holds.every(([, isSo]) => isSo) ? 0 : 1;
}
