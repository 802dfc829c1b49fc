import { expect, it } from '@jest/globals';
import { ExampleProcess, sqlServers, until } from '@sluice/testkit';

const start = sqlServers.postgres;
const main = new URL('../dist/main.js', import.meta.url);

(start === undefined ? it.skip : it)(
  'counts over two processes, and decides by itself while the database is away',
  async () => {
    const server = await (start as NonNullable<typeof start>)();
    const processes = [1, 2].map(() => new ExampleProcess(main, { DATABASE_URL: server.url }));
    try {
      const ports = await Promise.all(processes.map((one) => one.listens()));
      const get = async (i: number): Promise<string> => {
        const response = await fetch(`http://127.0.0.1:${String(ports[i % 2])}/`);
        return response.ok ? await response.text() : String(response.status);
      };
      for (const i of [0, 1]) await until('it decides', async () => (await get(i)) === 'decided by postgres\n');

      const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => get(i)));
      expect(answers.toSorted()).toEqual([...Array(4).fill('429'), ...Array(8).fill('decided by postgres\n')]);

      await server.kill();
      await until('memory decides', async () => (await get(0)) === 'decided by local\n');
      await server.restart();
      await until('the database decides again', async () => /429|postgres/.test(await get(0)));
    } finally {
      for (const one of processes) one.stop();
      await Promise.all(processes.map((one) => one.ends()));
      await server.stop();
    }
  },
);
