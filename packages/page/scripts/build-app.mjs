// Writes app/, minified, into src/view/app.generated.ts: the style and the program of the page, and the policy of its
// content, which names both by their hashes.
//
//   node packages/page/scripts/build-app.mjs [--check]    --check writes nothing, and fails if the file is stale
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transformSync } from 'esbuild';

const folder = fileURLToPath(new URL('..', import.meta.url));
const generated = `${folder}src/view/app.generated.ts`;
const read = (file, options) =>
  transformSync(readFileSync(`${folder}app/${file}`, 'utf8'), {
    minify: true,
    target: 'es2022',
    ...options,
  }).code.trim();
const style = read('page.css', { loader: 'css' });
const program = read('page.ts', { loader: 'ts', format: 'iife' });
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(program)}`,
  `style-src ${hash(style)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types sluice',
].join('; ');

const text = `// Written by packages/page/scripts/build-app.mjs from packages/page/app. Do not edit: edit that.
export const STYLE: string = ${JSON.stringify(style)};

export const PROGRAM: string = ${JSON.stringify(program)};

/** The Content-Security-Policy of the page. */
export const CONTENT_POLICY: string = ${JSON.stringify(policy)};
`;
if (!process.argv.includes('--check')) writeFileSync(generated, text);
else if (readFileSync(generated, 'utf8') !== text) {
  console.error('packages/page/src/view/app.generated.ts is stale: run node packages/page/scripts/build-app.mjs');
  process.exitCode = 1;
}
