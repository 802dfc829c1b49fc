// Makes one file of a program, for Node.js as an ES module or as CommonJS, and runs it.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const [format, program] = process.argv.slice(2);
const outfile = `${program}.${format === 'esm' ? 'mjs' : 'cjs'}`;
const external = ['express', 'prom-client', 'ioredis'];
const about = { entryPoints: [program], bundle: true, platform: 'node', format, outfile, external, logLevel: 'silent' };
const { warnings } = await build(about);
if (warnings.length > 0) throw new Error(JSON.stringify(warnings));
await import(pathToFileURL(resolve(outfile)));
