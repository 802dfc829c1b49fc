import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

const canPin =
  process.platform === 'linux' &&
  availableParallelism() > 1 &&
  spawnSync('taskset', ['--version'], { stdio: 'ignore' }).status === 0;

/** Whether processes are held to cores: what is measured on one, what serves it or loads it on the other. */
export const isPinned = canPin;

export const MEASURED = 0;
export const OTHER = 1;

/** How to start a Node that stays on a core. */
export function heldTo(core, { node = process.execPath, flags = [] } = {}) {
  return canPin
    ? { execPath: 'taskset', execArgv: ['-c', String(core), node, ...flags] }
    : { execPath: node, execArgv: flags };
}

/** Moves a process that runs, with all its threads, to a core. */
export function moveTo(core, pid) {
  if (canPin) spawnSync('taskset', ['-acp', String(core), String(pid)], { stdio: 'ignore' });
}
