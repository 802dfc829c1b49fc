// One file of everything, for Node.js as ES module and as CommonJS: both run.
import { spawnSync } from 'node:child_process';
import { build } from 'esbuild';

const contents = `
import express from 'express';
import { rateLimit } from '@sluice/express';
import { listening, threeRequests } from './limited.mjs';

const app = express();
app.use(rateLimit({ limit: 2, window: '1m' })).get('/', (request, response) => response.send('ok'));
listening(app).then(threeRequests).then(() => process.exit(0));
`;
for (const [format, outfile] of Object.entries({ esm: 'bundle-out.mjs', cjs: 'bundle-out.cjs' })) {
  const external = ['express', 'prom-client', 'ioredis'];
  const stdin = { contents, resolveDir: '.' };
  const { warnings } = await build({
    stdin,
    bundle: true,
    platform: 'node',
    format,
    outfile,
    external,
    logLevel: 'silent',
  });
  const { status, stderr } = spawnSync(process.execPath, [outfile], { encoding: 'utf8' });
  if (status !== 0 || warnings.length > 0) throw new Error(`${outfile}: ${stderr}${JSON.stringify(warnings)}`);
}
