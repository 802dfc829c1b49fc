import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** It has no releases: a commit, as go writes it. */
const VERSION = 'v1.4.1-0.20260122083618-3fb702589d36';
const PACKAGE = 'github.com/envoyproxy/ratelimit/src/service_cmd';
const GOS = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'];
const cache = fileURLToPath(new URL(`../../../../node_modules/.cache/sluice/ratelimit/${VERSION}/`, import.meta.url));

/**
 * An executable of envoyproxy/ratelimit: `RATELIMIT` of the environment, or one that go makes of the module, and that
 * is kept. Undefined where there is no go.
 *
 * @throws when go cannot build it.
 */
export function findRatelimit() {
  const named = process.env['RATELIMIT'];
  if (named !== undefined && named !== '') return { path: named, version: 'of RATELIMIT' };
  const path = join(cache, 'service_cmd');
  if (existsSync(path)) return { path, version: VERSION };
  const go = GOS.find((one) => spawnSync(one, ['version'], { stdio: 'ignore' }).status === 0);
  if (go === undefined) return undefined;
  mkdirSync(cache, { recursive: true });
  console.error(`go builds ${PACKAGE}: some minutes, once`);
  const env = { ...process.env, GOBIN: cache };
  const { status } = spawnSync(go, ['install', `${PACKAGE}@${VERSION}`], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (status !== 0) throw new Error(`go cannot build ${PACKAGE}@${VERSION}`);
  return { path, version: VERSION };
}
