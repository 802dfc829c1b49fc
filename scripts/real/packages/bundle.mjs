// One file of everything, for Node.js as ES module and as CommonJS: both run.
import { spawnSync } from 'node:child_process';
import { build } from 'esbuild';

for (const [format, name] of [
  ['esm', 'bundle-out.mjs'],
  ['cjs', 'bundle-out.cjs'],
]) {
  const external = ['express', 'prom-client', 'ioredis'];
  const { warnings } = await build({
    entryPoints: [format === 'esm' ? 'express.mjs' : 'express.cjs'],
    ...{ bundle: true, platform: 'node', format, outfile: name, external, logLevel: 'silent' },
  });
  const { status, stderr } = spawnSync(process.execPath, [name], { encoding: 'utf8' });
  if (status !== 0 || warnings.length > 0) throw new Error(`${name}: ${stderr}${JSON.stringify(warnings)}`);
}
