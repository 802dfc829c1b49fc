import { delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ExampleProcess } from '@sluice/testkit';

const MAIN = new URL('../dist/main.js', import.meta.url);
/** Where scripts/setup/test-tools.mjs keeps the programs that are not installed. */
const CACHE = fileURLToPath(new URL('../../../node_modules/.cache/sluice', import.meta.url));

/** The example, started by its command on a port that is free. */
export class System extends ExampleProcess {
  constructor(...args: readonly string[]) {
    super(MAIN, { PATH: [process.env['PATH'], CACHE].join(delimiter) }, ['--port', '0', ...args]);
  }

  static async start(...args: readonly string[]): Promise<System> {
    const system = new System(...args);
    await system.prints('Ctrl-C');
    return system;
  }

  /** Where nginx listens. */
  get port(): number {
    return Number(/^Listening on http:\S+:(\d+):/m.exec(this.stdout)?.[1]);
  }

  /** The process of a gateway or a service. */
  pidOf(name: string): number {
    return Number(new RegExp(`${name} .*pid (\\d+)`).exec(this.stdout)?.[1]);
  }

  /** The number of requests that a service has received. */
  async served(service: string): Promise<number> {
    const [, url] = new RegExp(`^ +${service} +(\\S+) `, 'm').exec(this.stdout) ?? [];
    return ((await (await fetch(`${String(url)}/served`)).json()) as { served: number }).served;
  }
}
