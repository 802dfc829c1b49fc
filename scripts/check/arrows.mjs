// Checks the imports of packages/core/src, those of types included: a room imports from the rooms above it in this list, never from those below, and no
// files import each other in a circle. Folders inside a room belong to their room: among them only circles are errors. ESLint's own rules leave out imports of types.
//
//   node scripts/check/arrows.mjs
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

/** From the ground up: the rows of the table in ARCHITECTURE.md, without the folders inside a room. A file at the root is a room of its own. */
const ROOMS = roomsOf(readFileSync(new URL('../../ARCHITECTURE.md', import.meta.url), 'utf8'));

const root = fileURLToPath(new URL('../../packages/core/src/', import.meta.url));
const files = readdirSync(root, { recursive: true })
  .filter((file) => file.endsWith('.ts'))
  .sort();
const imports = new Map(files.map((file) => [file, importsOf(file)]));
const problems = [
  ...files.filter((file) => floorOf(file) === -1).map(noRoom),
  ...files.flatMap(upwardArrows),
  ...circles(),
];
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);

function roomsOf(architecture) {
  const [, section] = architecture.split('## The rooms of packages/core/src\n');
  const rows = section.split('\n## ')[0].matchAll(/^\| (`[^|]+)\|/gm);
  return [...rows]
    .map(([, cell]) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name.replace(/\/$/, '')))
    .map((rooms) => rooms.filter((room) => !room.includes('/')))
    .filter((rooms) => rooms.length > 0);
}

function importsOf(file) {
  const source = readFileSync(join(root, file), 'utf8');
  return [...source.matchAll(/(?:from |import\(|import )'(\.[^']+)'/g)].map(([, path]) =>
    normalize(join(dirname(file), path)),
  );
}

function floorOf(file) {
  return ROOMS.findIndex((rooms) => rooms.includes(file.split('/')[0]));
}

function noRoom(file) {
  return `${file} is in no room: add its room to scripts/check/arrows.mjs, where it belongs`;
}

function upwardArrows(file) {
  return imports
    .get(file)
    .filter((target) => floorOf(target) > floorOf(file))
    .map((target) => `${file} imports ${target}, which is a floor above it`);
}

/** Circles of files, each reported once: depth first, by the files on the way down. */
function circles() {
  const found = [];
  const done = new Set();
  const visit = (file, way) => {
    if (way.includes(file)) {
      found.push(`a circle of imports: ${[...way.slice(way.indexOf(file)), file].join(' -> ')}`);
      return;
    }
    if (done.has(file)) return;
    for (const target of imports.get(file) ?? []) visit(target, [...way, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  return found;
}
