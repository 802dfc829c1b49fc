import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';

interface Row {
  readonly name: string;
  readonly store: string;
  readonly figures: Record<string, { median: number }>;
}

interface Child {
  ask(method: 'open', settings: object): Promise<object>;
  ask(method: 'denials', options: { times: number }): Promise<boolean[]>;
  ask(method: 'slice', options: { ms: number }): Promise<Record<string, number>>;
  end(): Promise<void>;
}
const untyped: string = '../src/in-turn.mjs';
// In a process of its own: what is measured are the built packages, as users have them.
const { startChild } = (await import(untyped)) as { startChild: (file: string, settings: object) => Promise<Child> };
const bench = fileURLToPath(new URL('../src/bench.mjs', import.meta.url));

/** The rows of a run whose figures mean nothing. */
function trial(...args: string[]): Row[] {
  const { stdout } = spawnSync(process.execPath, [bench, '--trial', ...args], { encoding: 'utf8' });
  return (JSON.parse(stdout) as { rows: Row[] }).rows;
}

const contendersOf = (list: string): string[] => {
  const source = new URL('../src/peers.mjs', import.meta.url).href;
  const program = `import { ${list} } from '${source}'; console.log(JSON.stringify(Object.keys(${list})));`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  return JSON.parse(stdout) as string[];
};

const LIMIT = 3;

describe('the benchmarks', () => {
  const server = useRedis();

  describe.each([
    ['memory', 'IN_MEMORY'],
    ['redis', 'ON_REDIS'],
  ])('measure in %s by', (question, list) => {
    let child: Child;
    const open = (name: string): object => ({ name, scene: 'denied', url: server.server.url, limit: LIMIT });
    beforeAll(async () => {
      child = await startChild(`${question}.mjs`, open('sluice'));
    });
    afterAll(() => child.end());

    it.each(contendersOf(list))('%s, which denies after a limit of three and not before', async (name) => {
      await server.admin.flushall();
      await child.ask('open', open(name));

      expect(await child.ask('denials', { times: LIMIT + 2 })).toEqual([false, false, false, true, true]);
      expect(await child.ask('slice', { ms: 5 })).toMatchObject({ cpuUs: expect.any(Number) });
    });
  });

  it('measure over HTTP a limiter that denies where it is asked to', () => {
    const rows = trial('http', '--framework', 'hono', '--scene', 'denied');

    expect(rows.map(({ name, store, figures }) => [name, store, (figures['deniedShare']?.median ?? 0) > 0])).toEqual([
      ['by hand', 'none', false],
      ['sluice', 'memory', true],
      ['hono-rate-limiter', 'memory', true],
      ['rate-limiter-flexible', 'memory', true],
      ['sluice', 'redis', true],
    ]);
  });

  it('get an answer for every call of the service', () => {
    const rows = trial('service');

    expect(rows.map(({ name }) => name)).toContain('sluice');
    for (const { figures } of rows) expect([figures['failedShare']?.median, figures['denied']?.median]).toEqual([0, 0]);
  });

  it('name the questions when they are asked another', () => {
    const { status, stderr } = spawnSync(process.execPath, [bench, 'speed'], { encoding: 'utf8' });

    expect([status, stderr]).toEqual([2, 'there is no question "speed": write some of memory, redis, http, service\n']);
  });
});
