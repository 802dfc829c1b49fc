import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describePolicySource, findProgram, freePort, startProgram, type PolicyServer } from '@sluice/testkit';
import { etcdSource } from '../src/etcd-source.ts';

interface Server extends PolicyServer {
  readonly address: string;
}

const program = findProgram('etcd');
const encode = (text: string): string => Buffer.from(text).toString('base64');

async function startEtcd(): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-etcd-'));
  const address = `http://127.0.0.1:${String(await freePort())}`;
  const peers = `http://127.0.0.1:${String(await freePort())}`;
  const clients = ['--listen-client-urls', address, '--advertise-client-urls', address];
  const cluster = ['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers];
  const args = ['--data-dir', folder, ...clients, ...cluster, '--initial-cluster', `default=${peers}`];
  const post = async (path: string, body: object): Promise<unknown> =>
    (await fetch(`${address}/v3/kv/${path}`, { method: 'POST', body: JSON.stringify(body) })).json();
  const etcd = await startProgram(program as string, args, () => post('range', { key: encode('any') }), { folder });
  return {
    address,
    clear: () => post('deleterange', { key: encode('sluice/'), range_end: encode('sluice0') }),
    spoil: () => post('put', { key: encode('sluice/policies/orders'), value: encode('ten an hour') }),
    kill: () => etcd.kill(),
    stop: etcd.stop,
  };
}

describePolicySource<Server>('etcd', {
  start: program === undefined ? undefined : startEtcd,
  open: ({ address }) => Promise.resolve({ source: etcdSource(address) }),
  programs: new URL('../dist/', import.meta.url),
  env: ({ address }) => ({ ETCD: address }),
});
