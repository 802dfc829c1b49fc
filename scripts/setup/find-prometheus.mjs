// Finds Prometheus and promtool: on the path, or Debian's, which is installed with apt-get as root or with sudo.
import { spawnSync } from 'node:child_process';

const has = (name) => spawnSync(name, ['--version']).status === 0;

/** The names of both programs. Exits with what to install if there are none. */
export function findPrometheus() {
  const programs = { prometheus: 'prometheus', promtool: 'promtool' };
  if (Object.values(programs).every(has)) return programs;
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  const commands = `${sudo}apt-get update -qq && ${sudo}apt-get install -y -qq --no-install-recommends prometheus`;
  console.log(`$ ${commands}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  spawnSync('sh', ['-c', commands], { stdio: ['ignore', 'ignore', 'inherit'], env });
  if (Object.values(programs).every(has)) return programs;
  console.error('Install Prometheus, with promtool, on the path (Debian: apt-get install prometheus).');
  process.exit(1);
}
