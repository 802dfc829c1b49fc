// Writes traces.jsonl.gz and stored-values.json from this core, and prints how many traces each tag has:
//
//   node packages/core/test/oracle/record.mjs [FOLDER]
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const outfile = `${here}record.bundle.mjs`;
try {
  await build({
    entryPoints: [`${here}record.ts`],
    ...{ outfile, bundle: true, format: 'esm', platform: 'node' },
    conditions: ['@sluice/source'],
    external: ['ioredis'],
    logLevel: 'error',
  });
  const { record } = await import(outfile);
  console.log(await record(process.argv[2] ?? here));
} finally {
  rmSync(outfile, { force: true });
}
