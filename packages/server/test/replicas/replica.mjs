// A replica of the service as `sluice serve` runs it, from the built package: with SIGTERM it is NOT_SERVING for a
// while, and then drains. Prints a line when it is ready.
import { createServer } from '@sluice/server';

const { delayMs, ...options } = JSON.parse(process.argv[2]);
const server = await createServer({ ...options, admin: 'off', log: () => undefined });
process.once('SIGTERM', () => server.close({ delayMs }));
process.stdout.write('ready\n');
