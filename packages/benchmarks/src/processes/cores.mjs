import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const canPin =
  process.platform === 'linux' &&
  availableParallelism() > 1 &&
  spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0;

/** Whether processes are bound to cores: the measured one to the first, servers and load to the second. */
export const isPinned = canPin;

export const MEASURED = 0;
export const OTHER = 1;

/** The command of a Node bound to a core. */
export function heldTo(core, { node = process.execPath, flags = [] } = {}) {
  return canPin
    ? { execPath: 'taskset', execArgv: ['-c', String(core), node, ...flags] }
    : { execPath: node, execArgv: flags };
}

/** Moves a process that runs, with all its threads, to a core. */
export function moveTo(core, pid) {
  if (canPin) spawnSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
}
