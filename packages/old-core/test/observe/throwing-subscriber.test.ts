import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const child = fileURLToPath(new URL('../children/throwing-subscriber.mjs', import.meta.url));
const run = (...args: string[]) => {
  const { stdout, stderr, status } = spawnSync(process.execPath, [child, ...args], { encoding: 'utf8' });
  return { lines: stdout.trim().split('\n').sort(), stderr, status };
};

describe('a subscriber that throws', () => {
  it('changes no decision, and keeps no message from other subscribers', () => {
    const { lines, status } = run('caught');

    expect(lines).toEqual([
      'decided: allowed',
      'decided: denied',
      'heard: allowed',
      'heard: denied',
      'uncaught: a bug in a subscriber',
      'uncaught: a bug in a subscriber',
    ]);
    expect(status).toBe(0);
  });

  it('ends the process where nothing handles uncaught exceptions, as Node has it', () => {
    const { stderr, status } = run();

    expect(stderr).toContain('a bug in a subscriber');
    expect(status).toBe(1);
  });
});
