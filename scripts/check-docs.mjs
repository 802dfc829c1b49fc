// Holds the documents against the code: every code of an error or warning has a heading in docs/reference/errors.md and every heading a code; every link
// between files leads somewhere; every example that says so runs.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const problems = [];

const codes = new Set(
  ['packages/core/src/errors.ts', 'packages/core/src/warnings.ts'].flatMap((path) =>
    [...read(path).matchAll(/^ *\| '(SLUICE_\w+)'|= '(SLUICE_\w+)'(?= \||;)|\| '(SLUICE_\w+)'/gm)].map(
      (match) => match[1] ?? match[2] ?? match[3],
    ),
  ),
);
const headings = new Set(
  [...read('docs/reference/errors.md').matchAll(/^### (SLUICE_\w+)/gm)].map((match) => match[1]),
);
for (const code of codes) if (!headings.has(code)) problems.push(`docs/reference/errors.md has no heading for ${code}`);
for (const code of headings)
  if (!codes.has(code)) problems.push(`docs/reference/errors.md describes ${code}, which the code does not have`);

const { stdout } = spawnSync('git', ['ls-files', '*.md'], { cwd: root, encoding: 'utf8' });
for (const file of stdout.split('\n').filter(Boolean)) {
  const text = read(file).replace(/```.*?```/gs, '');
  for (const [, target] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue;
    const [path, anchor] = target.split('#');
    const there = path === '' ? join(root, file) : join(root, dirname(file), path);
    if (!existsSync(there)) problems.push(`${file} links to ${target}, which is not there`);
    else if (anchor && there.endsWith('.md') && !anchorsOf(readFileSync(there, 'utf8')).has(anchor)) {
      problems.push(`${file} links to ${target}, which has no such heading`);
    }
  }
}

// Blocks of the kind ```js run``` are programs; what they print stands in their `// prints` comments.
for (const file of ['README.md', 'packages/core/README.md', 'packages/express/README.md']) {
  for (const [, program] of read(file).matchAll(/```js run\n(.*?)```/gs)) {
    const expected = [...program.matchAll(/\/\/ prints (.*)$/gm)].map((match) => match[1]);
    const {
      status,
      stdout: printed,
      stderr,
    } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
      cwd: root,
      encoding: 'utf8',
    });
    if (status !== 0 || printed.trimEnd() !== expected.join('\n')) {
      problems.push(`${file}: a program prints\n${printed}${stderr}\ninstead of\n${expected.join('\n')}`);
    }
  }
}

for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);

function anchorsOf(markdown) {
  const headings = [...markdown.matchAll(/^#+ (.*)$/gm)].map((match) => match[1]);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
}
