// Checks the imports of every package, those of types included:
//
// - inside a package, rooms (the folders and files of src/) do not import each other in a circle, and no files do;
// - a package with several folders has an order of them in ARCHITECTURE.md: a table of all its rooms, where a room
//   imports only from those above it, or a row of its folders, where a folder imports only from those to its left;
// - a package imports only the packages that its row in ARCHITECTURE.md names, and imports them by their names.
//
//   node scripts/check/arrows.mjs
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';

const ORDERS = 'The folders of other packages';

const root = fileURLToPath(new URL('../../', import.meta.url));
const architecture = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
const packages = readdirSync(join(root, 'packages'))
  .filter((name) => existsSync(join(root, 'packages', name, 'src')))
  .map(packageOf)
  .filter(({ files }) => files.length > 0);

const problems = [...packages.flatMap(insideOf), ...between()];
for (const problem of problems) console.error(problem);
process.exit(problems.length === 0 ? 0 : 1);

/** A package with the imports of each of its files: `inner` within the package, `outer` by the names of others. */
function packageOf(name) {
  const src = join(root, 'packages', name, 'src');
  const files = readdirSync(src, { recursive: true })
    .filter((file) => /\.(ts|mjs)$/.test(file))
    .sort();
  const imports = new Map();
  for (const file of files) {
    const targets = [...readFileSync(join(src, file), 'utf8').matchAll(/(?:from |import\(|import )'([^']+)'/g)].map(
      ([, target]) => target,
    );
    imports.set(file, {
      inner: targets
        .filter((target) => target.startsWith('.'))
        .map((target) => normalize(join(dirname(file), target)))
        .filter((target) => files.includes(target)),
      outer: targets.filter((target) => target.startsWith('@sluice/')).map((target) => target.split('/')[1]),
      paths: targets.filter((target) => /^packages\/[^/]+\/src\//.test(fromRoot(name, file, target))),
    });
  }
  return { name, files, imports };
}

/** A relative import as a path from the root, when it leaves the package. */
function fromRoot(name, file, target) {
  if (!target.startsWith('.')) return '';
  const path = normalize(join('packages', name, 'src', dirname(file), target));
  return path.startsWith(`packages/${name}/`) ? '' : path;
}

function insideOf({ name, files, imports }) {
  const ofFiles = new Map(files.map((file) => [file, imports.get(file).inner]));
  const ofRooms = new Map();
  for (const [file, targets] of ofFiles) {
    const others = targets.map(roomOf).filter((room) => room !== roomOf(file));
    ofRooms.set(roomOf(file), [...(ofRooms.get(roomOf(file)) ?? []), ...others]);
  }
  return [
    ...againstOrder(name, ofFiles),
    ...circlesOf(ofFiles).map((circle) => `${name}: a circle of imports: ${circle.join(' -> ')}`),
    ...circlesOf(ofRooms).map((circle) => `${name}: rooms import each other in a circle: ${circle.join(' -> ')}`),
  ];
}

function roomOf(file) {
  return file.split('/')[0];
}

/**
 * The imports that the order of a package's rooms forbids. Folders inside a room belong to it; rooms of one row of a
 * table may import each other.
 */
function againstOrder(name, ofFiles) {
  const floors = floorsOf(name);
  const folders = new Set([...ofFiles.keys()].filter((file) => file.includes('/')).map(roomOf));
  if (floors.length === 0) {
    return folders.size > 1
      ? [`packages/${name}/src has folders without an order: add a row to "${ORDERS}" in ARCHITECTURE.md`]
      : [];
  }
  const floorOf = (file) => floors.findIndex((rooms) => rooms.includes(roomOf(file)));
  const filesToo = floors.flat().some((room) => !folders.has(room));
  return [...ofFiles].flatMap(([file, targets]) => {
    if (floorOf(file) !== -1) {
      return targets
        .filter((target) => floorOf(target) > floorOf(file))
        .map((target) => `${name}: ${file} imports ${target}, which comes after it in ARCHITECTURE.md`);
    }
    return filesToo || file.includes('/')
      ? [`packages/${name}/src/${file} is in no room: add its room to ARCHITECTURE.md, where it belongs`]
      : [];
  });
}

/** The rooms of a package from the ground up, those of one floor together. */
function floorsOf(name) {
  const table = rowsOf(`The rooms of packages/${name}/src`).map((cells) => namesIn(cells[0]));
  const row = rowsOf(ORDERS).find((cells) => namesIn(cells[0])[0] === name);
  const floors = row ? namesIn(row[1]).map((folder) => [folder]) : table;
  return floors.map((rooms) => rooms.filter((room) => !room.includes('/'))).filter((rooms) => rooms.length > 0);
}

/** What the table of packages forbids. */
function between() {
  const allowed = new Map(
    rowsOf('Which package imports which').map((cells) => [namesIn(cells[0])[0], namesIn(cells[1])]),
  );
  return packages.flatMap(({ name, imports }) => {
    if (!allowed.has(name)) return [`the package ${name} has no row in ARCHITECTURE.md: say there what it imports`];
    return [...imports].flatMap(([file, { outer, paths }]) => [
      ...outer
        .filter((target) => target !== name && !allowed.get(name).includes(target))
        .map(
          (target) =>
            `packages/${name}/src/${file} imports @sluice/${target}, which its row in ARCHITECTURE.md does not name`,
        ),
      ...paths.map((path) => `packages/${name}/src/${file} imports ${path}: packages are imported by their names`),
    ]);
  });
}

/** The rows of the table of a section, as cells. */
function rowsOf(heading) {
  const section = architecture.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| (`.*)\|$/gm)].map(([, row]) => row.split('|'));
}

function namesIn(cell) {
  return [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name.replace(/\/$/, ''));
}

/** Circles in a graph, each reported once: depth first, by the nodes on the way down. */
function circlesOf(graph) {
  const found = [];
  const done = new Set();
  const visit = (node, way) => {
    if (way.includes(node)) {
      found.push([...way.slice(way.indexOf(node)), node]);
      return;
    }
    if (done.has(node)) return;
    for (const target of new Set(graph.get(node))) visit(target, [...way, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return found;
}
