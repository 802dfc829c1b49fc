// Lets the threads that a test starts read TypeScript, as Jest does: `--import` runs this in each.
import { readFile } from 'node:fs/promises';
import { register } from 'node:module';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';

const HOOKS = '?hooks';
if (!isMainThread && !import.meta.url.endsWith(HOOKS)) register(import.meta.url + HOOKS);

export function resolve(specifier, context, next) {
  const sources = process.env['SLUICE_BUILT'] ? [] : ['@sluice/source'];
  return next(specifier, { ...context, conditions: [...sources, ...context.conditions] });
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const { transform } = await import('esbuild'); // which takes its time, and few threads need
  const { code } = await transform(await readFile(fileURLToPath(url), 'utf8'), { loader: 'ts', sourcemap: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
