import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Where programs are kept that are not installed. */
export const cache = fileURLToPath(new URL('../../node_modules/.cache/sluice/', import.meta.url));

/**
 * Downloads packages of Debian and unpacks them into a folder of the cache, without installing them: their services do
 * not start.
 *
 * @param unpacked - Called after each with what it depends on, and the folder.
 * @returns The folder.
 */
export function unpackPackages(name, packages, unpacked = () => undefined) {
  const folder = join(cache, name);
  const options = { cwd: folder, encoding: 'utf8' };
  mkdirSync(folder, { recursive: true });
  for (const one of packages) spawnSync('apt-get', ['download', '-qq', one], options);
  for (const file of readdirSync(folder).filter((entry) => entry.endsWith('.deb'))) {
    const { stdout } = spawnSync('dpkg-deb', ['-f', file, 'Depends'], options);
    spawnSync('dpkg-deb', ['-x', file, folder], options);
    unpacked(stdout, folder);
  }
  return folder;
}
