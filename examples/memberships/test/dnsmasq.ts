import { Resolver } from 'node:dns/promises';
import { userInfo } from 'node:os';
import { findProgram, freePort, startProgram, type RunningProgram } from '@sluice/testkit';

const PROBE = 'ready.test';
const OPTIONS = ['keep-in-foreground', 'conf-file=/dev/null', 'pid-file', `user=${userInfo().username}`];
const ZONE = ['local=/test/', 'no-resolv', 'no-hosts', 'bind-interfaces', 'listen-address=127.0.0.1'];

/** A DNS server of one test, on a free port of the loopback, which knows the records of the test alone. */
export class Dnsmasq {
  #port = 0;
  #program: RunningProgram | undefined;

  get address(): string {
    return `127.0.0.1:${String(this.#port)}`;
  }

  /** Serves these records and no others, in the words of its options, such as `host-record=a.test,10.0.0.1`. */
  async serve(...records: readonly string[]): Promise<void> {
    this.#port ||= await freePort();
    await this.kill();
    const own = [`port=${String(this.#port)}`, `host-record=${PROBE},127.0.0.1`];
    const options = [...OPTIONS, ...ZONE, ...own, ...records].map((option) => `--${option}`);
    const resolver = new Resolver({ timeout: 500, tries: 1 });
    resolver.setServers([this.address]);
    this.#program = await startProgram(findProgram('dnsmasq') ?? 'dnsmasq', options, () => resolver.resolve4(PROBE));
  }

  async kill(): Promise<void> {
    await this.#program?.kill();
  }
}
