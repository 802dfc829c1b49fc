import { spawn, type ChildProcess } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { freePort, until } from '@sluice/testkit';

/** Where scripts/setup/test-tools.mjs finds it, too. */
const PROGRAM = [process.env['DNSMASQ'], '/usr/sbin/dnsmasq'].find((path) => path !== undefined && existsSync(path));
const PROBE = 'ready.test';
const OPTIONS = ['keep-in-foreground', 'conf-file=/dev/null', 'pid-file', `user=${userInfo().username}`];
const ZONE = ['local=/test/', 'no-resolv', 'no-hosts', 'bind-interfaces', 'listen-address=127.0.0.1'];

/** A DNS server of one test, on a free port of the loopback, which knows the records of the test alone. */
export class Dnsmasq {
  #port = 0;
  #child: ChildProcess | undefined;

  get address(): string {
    return `127.0.0.1:${String(this.#port)}`;
  }

  /** Serves these records and no others, in the words of its options, such as `host-record=a.test,10.0.0.1`. */
  async serve(...records: readonly string[]): Promise<void> {
    this.#port ||= await freePort();
    await this.kill();
    const own = [`port=${String(this.#port)}`, `host-record=${PROBE},127.0.0.1`];
    const options = [...OPTIONS, ...ZONE, ...own, ...records].map((option) => `--${option}`);
    this.#child = spawn(PROGRAM ?? 'dnsmasq', options, { stdio: 'inherit' });
    const resolver = new Resolver({ timeout: 500, tries: 1 });
    resolver.setServers([this.address]);
    await until('dnsmasq answers', async () => (await resolver.resolve4(PROBE)).length === 1);
  }

  async kill(): Promise<void> {
    if (this.#child?.kill('SIGKILL') === true) await once(this.#child, 'exit');
  }
}
