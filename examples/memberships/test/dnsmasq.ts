import { spawn, type ChildProcess } from 'node:child_process';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '@sluice/testkit';

/** Where scripts/setup/test-tools.mjs finds it, too. */
const PROGRAM = [process.env['DNSMASQ'], '/usr/sbin/dnsmasq'].find((path) => path !== undefined && existsSync(path));
const PROBE = 'ready.test';

/** A DNS server of one test, on a free port of the loopback, which knows the records of the test alone. */
export class Dnsmasq {
  readonly #folder = mkdtempSync(join(tmpdir(), 'sluice-dnsmasq-'));
  readonly #port: number;
  #child: ChildProcess | undefined;
  #records: readonly string[] = [];

  private constructor(port: number) {
    this.#port = port;
  }

  /** @param records - Lines of its configuration, such as `host-record=a.test,10.0.0.1`. */
  static async start(...records: readonly string[]): Promise<Dnsmasq> {
    const server = new Dnsmasq(await freePort());
    await server.serve(...records);
    return server;
  }

  get address(): string {
    return `127.0.0.1:${String(this.#port)}`;
  }

  /** Serves these records instead. */
  async serve(...records: readonly string[]): Promise<void> {
    this.#records = records;
    await this.kill();
    await this.#run();
  }

  /** Serves the same again. */
  async restart(): Promise<void> {
    await this.serve(...this.#records);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #run(): Promise<void> {
    const config = join(this.#folder, 'dnsmasq.conf');
    const own = [
      'local=/test/',
      'no-resolv',
      'no-hosts',
      'bind-interfaces',
      'listen-address=127.0.0.1',
      `port=${String(this.#port)}`,
    ];
    const asUser = [`user=${userInfo().username}`, 'pid-file', `host-record=${PROBE},127.0.0.1`];
    writeFileSync(config, [...own, ...asUser, ...this.#records, ''].join('\n'));
    this.#child = spawn(PROGRAM ?? 'dnsmasq', ['--keep-in-foreground', `--conf-file=${config}`], { stdio: 'inherit' });
    const resolver = new Resolver({ timeout: 500, tries: 1 });
    resolver.setServers([this.address]);
    await until('dnsmasq answers', async () => (await resolver.resolve4(PROBE)).length === 1);
  }
}
