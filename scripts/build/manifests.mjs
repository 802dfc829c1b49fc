// Writes into the manifest of each published package what follows from scripts/build/packages.mjs and from the manifest at
// the root: its version, its entry points, and the addresses of repository and site. Writes these addresses into the
// packages' READMEs, into what the issue forms link to and, for the messages, into core, too.
// With --check it writes nothing, and fails when a file is stale.
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { ADDRESSES, PACKAGES, nameOf } from './packages.mjs';

const root = new URL('../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, root), 'utf8');
const { version, author, license, engines } = JSON.parse(read('package.json'));
const PARSERS = { json: 'json-stringify', md: 'markdown', ts: 'typescript', yml: 'yaml' };
/** What each package ships beside its code. */
const DOCUMENTS = ['README.md', 'SKILL.md', 'LICENSE'];
const check = process.argv.includes('--check');
let stale = false;

for (const [folder, { formats, entries, internal = {}, callable }] of Object.entries(PACKAGES)) {
  const path = `packages/${folder}/package.json`;
  const { name, description, keywords, private: isPrivate, ...manifest } = JSON.parse(read(path));
  const written = exportsOf(formats, entries, callable);
  const hasTypes = entries['.'] !== undefined;
  const common = {
    name,
    version,
    ...(isPrivate && { private: true }),
    description,
    keywords,
    homepage: ADDRESSES.site,
    bugs: `${ADDRESSES.repository}/issues`,
    repository: { type: 'git', url: `git+${ADDRESSES.repository}.git`, directory: `packages/${folder}` },
    license,
    author,
    type: 'module',
    sideEffects: false,
    engines,
    // For tools that do not read `exports`.
    ...(hasTypes && formats.includes('cjs') && { main: './dist/index.cjs', types: './dist/index.d.cts' }),
    ...typesVersionsOf(formats, entries),
  };
  const own = { ...manifest };
  for (const key of [...Object.keys(common), 'main', 'types', 'typesVersions', 'exports', 'publishConfig'])
    delete own[key];
  const { imports, bin, files, ...rest } = own;
  await write(path, {
    ...common,
    ...(imports && { imports }),
    ...(bin && { bin }),
    exports: withSources({ ...entries, ...internal }, { ...written, ...exportsOf(['esm'], internal) }),
    files: [...new Set([...files, ...(isPrivate ? [] : DOCUMENTS)])],
    ...rest,
    publishConfig: { access: 'public', provenance: true, ...(hasTypes && { exports: written }) },
  });
  // They are read where the package is published too, so that their links are absolute.
  for (const document of isPrivate ? [] : ['README.md', 'SKILL.md']) {
    const file = `packages/${folder}/${document}`;
    await write(file, read(file).replace(/https:\/\/[^\s)]+(?=\/(?:blob|tree)\/main\/)/g, ADDRESSES.repository));
  }
}

const contacts = '.github/ISSUE_TEMPLATE/config.yml';
await write(contacts, read(contacts).replace(/https:\/\/\S+(?=\/(?:tree\/main|security)\/)/g, ADDRESSES.repository));
// The examples name the version that is published, as a copy of one does.
for (const name of readdirSync(new URL('examples/', root))) {
  const path = `examples/${name}/package.json`;
  if (existsSync(new URL(path, root))) {
    await write(path, read(path).replace(/("@sluice\/[\w-]+": ")\^[^"]*/g, `$1^${version}`));
  }
}

process.exit(stale ? 1 : 0);

/** The conditions of each entry point, as published. Types come first in each. */
function exportsOf(formats, entries, callable = []) {
  const paths = Object.keys(entries).map((path) => {
    const files = (js, types) => ({
      types: `./dist/${nameOf(path)}.${types}`,
      default: `./dist/${nameOf(path)}.${js}`,
    });
    const esm = files('js', 'd.ts');
    // Where require() can load ES modules, `module-sync` makes import and require load the same copy.
    if (!formats.includes('cjs')) return [path, esm];
    const both = { import: esm, require: files('cjs', 'd.cts') };
    return [path, callable.includes(path) ? both : { 'module-sync': esm, ...both }];
  });
  return Object.fromEntries([...paths, ['./package.json', './package.json']]);
}

/** In the workspace, what is told the condition `@sluice/source` reads the sources. */
function withSources(entries, written) {
  return Object.fromEntries(
    Object.entries(written).map(([path, conditions]) => [
      path,
      path in entries ? { '@sluice/source': `./src/${entries[path]}`, ...conditions } : conditions,
    ]),
  );
}

/** For `moduleResolution: node10`, which does not read `exports`. */
function typesVersionsOf(formats, entries) {
  const names = Object.keys(entries)
    .map(nameOf)
    .filter((name) => name !== 'index');
  if (names.length === 0 || !formats.includes('cjs')) return {};
  return { typesVersions: { '*': Object.fromEntries(names.map((name) => [name, [`./dist/${name}.d.cts`]])) } };
}

async function write(path, content, parser = PARSERS[path.split('.').at(-1)]) {
  const text = typeof content === 'string' ? content : JSON.stringify(content);
  const style = await resolveConfig(fileURLToPath(new URL(path, root)));
  const written = await format(text, { ...style, parser });
  let current;
  try {
    current = read(path);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  if (written === current) return;
  if (check) {
    stale = true;
    console.error(`${path} is stale: run \`node scripts/build/manifests.mjs\``);
  } else {
    writeFileSync(new URL(path, root), written);
  }
}
