import { describePolicySource } from '@sluice/testkit';
import { openDatabase } from '../src/database.ts';
import { SERVERS } from './servers.ts';

for (const [name, start] of SERVERS) {
  describePolicySource(name, {
    start,
    open: async ({ url }) => {
      const database = openDatabase(url);
      await database.createTable();
      return database;
    },
    programs: new URL('../dist/', import.meta.url),
    env: ({ url }) => ({ DATABASE_URL: url }),
  });
}
