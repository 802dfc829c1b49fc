// The tables and plots of the results, and docs/benchmarks.md: a block `<!-- measured: NAME -->` to `<!-- end -->` is
// filled with the plot and the table of a question.
//
//   node packages/benchmarks/src/page.mjs            writes the page from results/*.json
//   node packages/benchmarks/src/page.mjs --check    fails where it would write something else
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HTTP_SCENES } from './http.mjs';
import { SHAPES } from './keys.mjs';
import { REDIS_SCENES } from './redis.mjs';

const BLOCK = /(<!-- measured: (\w+) -->\n)[^]*?(<!-- end -->)/g;
const pathTo = (path) => fileURLToPath(new URL(`../../../${path}`, import.meta.url));
const resultsOf = (name) => pathTo(`packages/benchmarks/results/${name}.json`);

const digits = (value) => (value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3))));
const figure = (spread) => (spread === undefined ? '' : digits(spread.median));
const range = (spread) =>
  spread === undefined ? '' : `${figure(spread)} (${digits(spread.low)} to ${digits(spread.high)})`;
const million = (spread) => (spread === undefined ? '' : digits(spread.median / 1e6));

/** By question: the head of its table, its lines, and the title of its plot, with what it draws of a row, if anything. */
const pages = {
  memory: {
    head: ['million decisions a second of CPU time', ...Object.values(SHAPES).map(({ says }) => says), 'bytes a key'],
    lines: (rows) =>
      byName(rows).map(([name, at]) => [
        name,
        ...Object.keys(SHAPES).map((scene) => million(at(scene)?.figures.perSecond)),
        figure(at('bytes')?.figures.bytesPerKey),
      ]),
    title: 'Million decisions a second of CPU time, 10 000 keys, in memory',
    bar: ({ scene, figures }) => scene === 'many' && figures.perSecond,
    factor: 1e-6,
  },
  redis: {
    head: [
      'decisions a second by those of INCR',
      ...Object.values(REDIS_SCENES).map(({ says }) => says),
      'client µs',
      'Redis µs',
    ],
    lines: (rows) =>
      byName(rows).map(([name, at]) => [
        name,
        ...Object.keys(REDIS_SCENES).map((scene) => figure(at(scene)?.ofFloor.perSecond)),
        ...[figure(at('many')?.figures.cpuUs), figure(at('many')?.figures.redisUs)],
      ]),
    title: 'Decisions a second by those of INCR, 64 in flight, on Redis',
    bar: ({ scene, ofFloor }) => scene === 'many' && ofFloor.perSecond,
  },
  http: {
    head: ['CPU µs of a request', '', 'in process', ...Object.values(HTTP_SCENES).map(({ says }) => says)],
    lines: (rows) =>
      rows
        .filter(({ scene }) => scene === rows[0].scene)
        .map(({ framework, name, store }) => {
          const isSame = (row) => row.framework === framework && row.name === name && row.store === store;
          const at = (scene) => rows.find((row) => row.scene === scene && isSame(row))?.figures;
          const overSockets = Object.keys(HTTP_SCENES).map((scene) => range(at(scene)?.cpuUs));
          const where = store === 'none' ? '' : `in ${store}`;
          return [`${framework}, ${name}`, where, range(at('allowed')?.inProcessUs), ...overSockets];
        }),
    title: 'CPU µs of a request, allowed, in memory',
    bar: ({ scene, store, figures }) => scene === 'allowed' && store !== 'redis' && figures.cpuUs,
  },
  service: {
    head: ['calls a second', '', 'decisions a CPU second', 'p50 ms', 'p99 ms', 'MiB'],
    lines: (rows) =>
      rows.map(({ scene, name, figures: { perCpuSecond, p50Ms, p99Ms, rssMiB } }) => [
        ...[String(scene), name, range(perCpuSecond), range(p50Ms), range(p99Ms), figure(rssMiB)],
      ]),
    title: 'Decisions a CPU second, gRPC, at 10 000 calls a second',
    bar: ({ scene, figures }) => scene === 10_000 && figures.perCpuSecond,
  },
};

function byName(rows) {
  return [...new Set(rows.map(({ name }) => name))].map((name) => [
    name,
    (scene) => rows.find((row) => row.name === name && row.scene === scene),
  ]);
}

/** The table of a question, in Markdown. */
export function tableOf(name, { rows }) {
  const { head, lines } = pages[name];
  const all = [head, head.map(() => '---'), ...lines(rows)];
  const widths = head.map((_, i) => Math.max(...all.map((line) => line[i].length)));
  return all
    .map(
      (line) =>
        `| ${line.map((cell, i) => (cell === '---' ? '-'.repeat(widths[i]) : cell.padEnd(widths[i]))).join(' | ')} |`,
    )
    .join('\n');
}

const BAR = 22;
const LABEL_WIDTH = 230;
const PLOT_WIDTH = 430;

/** Horizontal bars, each with the range of its rounds. */
function plotOf({ title, bar, factor = 1 }, rows) {
  const bars = rows.filter(bar).map((row) => {
    const [value, low, high] = ['median', 'low', 'high'].map((end) => bar(row)[end] * factor);
    const label = row.framework === undefined ? row.name : `${row.framework}, ${row.name}`;
    return { label, isOurs: row.name.startsWith('sluice'), value, low, high };
  });
  const max = Math.max(...bars.map(({ high }) => high));
  const x = (value) => Math.round(LABEL_WIDTH + (value / max) * PLOT_WIDTH);
  const lines = bars.flatMap(({ label, isOurs, value, low, high }, i) => {
    const y = 34 + i * BAR;
    return [
      `<text x="${LABEL_WIDTH - 8}" y="${y + 12}" text-anchor="end">${label}</text>`,
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${x(value) - LABEL_WIDTH}" height="16" fill="${isOurs ? '#0b7285' : '#adb5bd'}"/>`,
      `<path d="M${x(low)} ${y + 8}H${x(high)}" stroke="#343a40"/>`,
      `<text x="${x(high) + 6}" y="${y + 12}">${digits(value)}</text>`,
    ];
  });
  const height = 40 + bars.length * BAR;
  const style = 'font-family="system-ui, sans-serif" font-size="13" fill="#343a40"';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LABEL_WIDTH + PLOT_WIDTH + 60} ${height}" ${style}>`,
    '<rect width="100%" height="100%" fill="#fff"/>',
    `<text x="8" y="20" font-weight="600">${title}</text>`,
    ...lines,
    '</svg>',
    '',
  ].join('\n');
}

/** Keeps the results of a question, a line for each row so that differences can be read. */
export function writeResults(name, { rows, ...about }) {
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  mkdirSync(pathTo('packages/benchmarks/results'), { recursive: true });
  writeFileSync(resultsOf(name), `${JSON.stringify(about, null, 2).slice(0, -2)},\n  "rows": [\n${lines}\n  ]\n}\n`);
}

/** Fills docs/benchmarks.md; with `isCheck` it only says what it would write. */
export function writePage(isCheck = false) {
  const files = new Map();
  const text = readFileSync(pathTo('docs/benchmarks.md'), 'utf8');
  const filled = text.replace(BLOCK, (_, begin, name, end) => {
    if (!existsSync(resultsOf(name))) return `${begin}\nNot measured yet.\n\n${end}`;
    const result = JSON.parse(readFileSync(resultsOf(name), 'utf8'));
    const { title } = pages[name];
    files.set(`docs/plots/bench-${name}.svg`, plotOf(pages[name], result.rows));
    const { date, rounds, machine } = result;
    const where = `${date}, ${rounds} rounds, Node ${machine.node}, ${machine.cpu}, ${machine.cores} cores${machine.isPinned ? ', held to cores' : ''}.`;
    return `${begin}\n![${title}](plots/bench-${name}.svg)\n\n${tableOf(name, result)}\n\n${where}\n\n${end}`;
  });
  files.set('docs/benchmarks.md', filled);
  const stale = [...files].filter(
    ([path, wanted]) => !existsSync(pathTo(path)) || readFileSync(pathTo(path), 'utf8') !== wanted,
  );
  if (!isCheck) for (const [path, wanted] of stale) writeFileSync(pathTo(path), wanted);
  return stale.map(([path]) => path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isCheck = process.argv.includes('--check');
  const stale = writePage(isCheck);
  if (isCheck && stale.length > 0) {
    console.error(`${stale.join(', ')} differ from the results: run node packages/benchmarks/src/page.mjs`);
    process.exitCode = 1;
  }
}
