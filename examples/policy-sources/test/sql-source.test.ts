import { describePolicySource, sqlServers } from '@sluice/testkit';
import { openSource } from '../src/open-source.ts';

const NAMES = { postgres: 'Postgres', mariadb: 'MariaDB' } as const;

for (const [name, start] of Object.entries(sqlServers)) {
  describePolicySource(NAMES[name as 'postgres'], {
    start:
      start &&
      (async () => {
        const server = await start();
        return {
          ...server,
          clear: () => server.query('drop table if exists sluice_policies'),
          spoil: () => server.query("update sluice_policies set record = 'ten an hour'"),
        };
      }),
    open: async ({ url }) => {
      const opened = openSource({ DATABASE_URL: url });
      await opened.createTable?.();
      return opened;
    },
    programs: new URL('../dist/', import.meta.url),
    env: ({ url }) => ({ DATABASE_URL: url }),
  });
}
