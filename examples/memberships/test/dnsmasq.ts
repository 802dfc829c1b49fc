import { Resolver } from 'node:dns/promises';
import { userInfo } from 'node:os';
import { findProgram, freePort, startProgram } from '@sluice/testkit';

const PROBE = 'ready.test';
const OPTIONS = ['keep-in-foreground', 'conf-file=/dev/null', 'pid-file', `user=${userInfo().username}`];
const ZONE = ['local=/test/', 'no-resolv', 'no-hosts', 'bind-interfaces', 'listen-address=127.0.0.1'];

/** A DNS server on a free port of the loopback, which knows the records of a test alone. */
export interface Dnsmasq {
  readonly address: string;
  /** Serves these records and no others, in the words of its options, such as `host-record=a.test,10.0.0.1`. */
  readonly serve: (...records: readonly string[]) => Promise<void>;
  readonly kill: () => Promise<void>;
}

export async function startDnsmasq(): Promise<Dnsmasq> {
  const port = String(await freePort());
  const address = `127.0.0.1:${port}`;
  const resolver = new Resolver({ timeout: 500, tries: 1 });
  resolver.setServers([address]);
  const write = (options: readonly string[]) => options.map((option) => `--${option}`);
  const args = write([...OPTIONS, ...ZONE, `port=${port}`, `host-record=${PROBE},127.0.0.1`]);
  const dns = await startProgram(findProgram('dnsmasq') ?? 'dnsmasq', args, () => resolver.resolve4(PROBE));
  return { address, serve: (...records) => dns.restart(write(records)), kill: () => dns.kill() };
}
