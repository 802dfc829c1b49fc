import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A program that the example needs is not installed; only the message is printed. */
export class MissingProgramError extends Error {
  override readonly name = 'MissingProgramError';
}

interface Program {
  /** The variable with its path, when it is in no usual place. */
  readonly variable: string;
  readonly names: readonly string[];
  readonly help: string;
}

const NGINX: Program = {
  variable: 'NGINX',
  names: ['nginx'],
  help: 'Debian, Ubuntu: apt-get install nginx; macOS: brew install nginx. It need not be running',
};
const REDIS: Program = {
  variable: 'REDIS_SERVER',
  names: ['redis-server', 'valkey-server'],
  help: 'Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis. Or give --redis URL',
};
// The folder of nginx on Debian, which is often not in PATH.
const MORE_FOLDERS = ['/usr/sbin', '/usr/local/sbin'];

/** @throws MissingProgramError which says what to install. */
export function nginxPath(env: NodeJS.ProcessEnv): string {
  return find(NGINX, env);
}

/** @throws MissingProgramError which says what to install. */
export function redisPath(env: NodeJS.ProcessEnv): string {
  return find(REDIS, env);
}

function find({ variable, names, help }: Program, env: NodeJS.ProcessEnv): string {
  const named = env[variable] ?? '';
  if (named !== '' && !existsSync(named))
    throw new MissingProgramError(`${variable} is ${named}, where there is nothing.`);
  if (named !== '') return named;
  const folders = [...(env['PATH'] ?? '').split(delimiter), ...MORE_FOLDERS];
  const found = names.flatMap((name) => folders.map((folder) => join(folder, name))).find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new MissingProgramError(
    `${names.join(' or ')} is not installed. ${help}, or set ${variable} to the path of one.`,
  );
}
