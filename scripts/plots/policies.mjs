// Draws what each policy allows of the same traffic: docs/plots/policy-*.svg, and the table of their figures in
// docs/guides/which-policy.md. The traffic is seeded and the time is virtual, so that every run on every machine
// writes the same bytes. Run `npm run build` first.
//
//   node scripts/plots/policies.mjs            draws
//   node scripts/plots/policies.mjs --check    fails when a committed file differs from what would be drawn
//   node scripts/plots/policies.mjs --units    prints every request and its decision, as JSON
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { draw, figures } from './draw.mjs';
import { replay } from './replay.mjs';
import { specimens, written } from './specimens.mjs';
import { table } from './table.mjs';
import { traffic } from './traffic.mjs';

const { values: given } = parseArgs({ options: { check: { type: 'boolean' }, units: { type: 'boolean' } } });
const root = fileURLToPath(new URL('../..', import.meta.url));
const plots = `${root}docs/plots/`;
const guide = `${root}docs/guides/which-policy.md`;
const BEGIN = '<!-- Written by scripts/plots/policies.mjs -->';
const END = '<!-- end -->';

const offer = traffic();
const replayed = [];
for (const specimen of specimens) replayed.push({ specimen, ...(await replay(specimen, offer.offered)) });

if (given.units) {
  process.stdout.write(JSON.stringify(replayed));
} else {
  const files = new Map(
    replayed.map(({ specimen, ...of }) => [`${plots}policy-${specimen.file}.svg`, draw(specimen, of, offer)]),
  );
  files.set(guide, withFigures(readFileSync(guide, 'utf8')));
  const left = readdirSync(plots).filter((name) => name.startsWith('policy-') && !files.has(plots + name));
  if (given.check) check(files, left);
  else write(files, left);
}

function withFigures(text) {
  const rows = replayed.map(({ specimen, requests }) => {
    const { offered, allowed, most, denialMs } = figures(specimen, { requests });
    return [
      `\`${written(specimen)}\``,
      `${Math.round((100 * allowed) / offered)}%`,
      `${most} of ${specimen.promise}${specimen.running ? ' at once' : ''}`,
      `${(denialMs / 1000).toFixed(1)} s`,
    ];
  });
  const head = ['policy', 'allowed', 'most in any 20 s, of what is promised', 'longest denial'];
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (after === undefined) throw new Error(`${guide} has no place for the figures: ${BEGIN} … ${END}`);
  return `${before}${BEGIN}\n\n${table([head, ...rows])}\n\n${END}${after}`;
}

function check(files, left) {
  const stale = [...files].filter(([path, drawn]) => !existsSync(path) || readFileSync(path, 'utf8') !== drawn);
  for (const [path] of stale)
    console.error(`${relative(root, path)} is not what the policies do: run \`npm run plots\``);
  for (const name of left)
    console.error(`${relative(root, plots)}/${name} shows no policy that is drawn: run \`npm run plots\``);
  process.exitCode = stale.length + left.length > 0 ? 1 : 0;
}

function write(files, left) {
  mkdirSync(plots, { recursive: true });
  for (const [path, drawn] of files) writeFileSync(path, drawn);
  for (const name of left) rmSync(plots + name);
}
