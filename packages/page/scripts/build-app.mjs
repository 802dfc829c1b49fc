// Builds app/ into src/app.generated.ts: one file of HTML with its style and program, and the policy of its content, which
// names both by their hashes.
//
//   node packages/page/scripts/build-app.mjs [--check]    --check writes nothing, and fails when the file is stale
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const MOST_BYTES = 60_000;
const folder = fileURLToPath(new URL('..', import.meta.url));
const generated = `${folder}src/app.generated.ts`;
const common = { bundle: true, minify: true, write: false, legalComments: 'none', charset: 'utf8', target: 'es2022' };

const built = async (entry, options) =>
  (await build({ absWorkingDir: folder, entryPoints: [entry], ...common, ...options })).outputFiles[0].text.trim();
const style = await built('app/style.css', {});
const jsx = { jsx: 'automatic', jsxImportSource: 'preact', format: 'iife', tsconfigRaw: {} };
const program = (await built('app/main.tsx', jsx)).replaceAll('</script', '<\\/script');
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
].join('; ');
const html =
  '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">' +
  `<link rel="icon" href="data:,"><title>Limits</title><style>${style}</style></head><body><script>${program}</script></body></html>`;
if (Buffer.byteLength(html) > MOST_BYTES)
  throw new Error(`the page has ${Buffer.byteLength(html)} bytes of ${MOST_BYTES}`);

const text = `// Written by packages/page/scripts/build-app.mjs from packages/page/app. Do not edit: edit that.
/** The page: one file of HTML. */
export const APP: string = ${JSON.stringify(html)};

/** Its Content-Security-Policy. */
export const APP_POLICY: string = ${JSON.stringify(policy)};
`;
if (!process.argv.includes('--check')) writeFileSync(generated, text);
else if (readFileSync(generated, 'utf8') !== text) {
  console.error('packages/page/src/app.generated.ts is stale: run node packages/page/scripts/build-app.mjs');
  process.exitCode = 1;
}
console.log(`the page: ${Buffer.byteLength(html)} bytes`);
