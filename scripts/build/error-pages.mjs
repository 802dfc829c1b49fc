// Writes what `sluice explain` prints: the section of each code in docs/reference/errors.md, without what only a page needs.
//
//   node scripts/build/error-pages.mjs            writes
//   node scripts/build/error-pages.mjs --check    fails when the file is stale
import { readFileSync, writeFileSync } from 'node:fs';
import { format } from 'prettier';

const root = new URL('../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, root), 'utf8');
const TARGET = 'packages/cli/src/error-pages.generated.ts';

const pages = {};
for (const chapter of read('docs/reference/errors.md').split(/^## /m).slice(1)) {
  const [title, ...sections] = chapter.split(/^### /m);
  for (const section of sections) {
    const [code] = section.split('\n', 1);
    pages[code] = { when: title.split('\n', 1)[0], text: plain(section.slice(code.length)) };
  }
}

const source = `// Written by scripts/build/error-pages.mjs from docs/reference/errors.md. Do not edit: edit that.
/** By code: when it is thrown or given, and what it means. */
export const ERROR_PAGES: Readonly<Record<string, { readonly when: string; readonly text: string }>> = ${JSON.stringify(pages)};
`;
const written = await format(source, { ...JSON.parse(read('package.json')).prettier, parser: 'typescript' });
if (!process.argv.includes('--check')) writeFileSync(new URL(TARGET, root), written);
else if (read(TARGET) !== written) {
  console.error(`${TARGET} is stale: run \`node scripts/build/error-pages.mjs\``);
  process.exit(1);
}

/** Links keep their words; a paragraph is one line, which the terminal breaks. */
function plain(markdown) {
  return markdown
    .replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .split(/(^```.*?^```$)/ms)
    .map((part) =>
      part.startsWith('```') ? part.replace(/^```.*\n?/gm, '') : part.replace(/([^\n])\n(?=[^\n\-|])/g, '$1 '),
    )
    .join('')
    .trim();
}
