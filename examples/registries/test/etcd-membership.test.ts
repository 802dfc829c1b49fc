import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort, until } from '@sluice/testkit';
import { etcdMembership } from '../src/etcd-membership.ts';
import { EtcdStub } from './etcd-stub.ts';
import { join, latest, type Joined } from './joined.ts';

interface Etcd {
  readonly url: string;
  stop(): Promise<void>;
}

const program = process.env['ETCD'] ?? '';
const servers: readonly (readonly [string, () => Promise<Etcd>])[] = [
  ['a stub of etcd', () => EtcdStub.start()],
  ...(program === '' ? [] : [['a real etcd', startEtcd] as const]),
];

async function startEtcd(): Promise<Etcd> {
  const folder = mkdtempSync(joinPath(tmpdir(), 'sluice-etcd-'));
  const [clients, peers] = [await freePort(), await freePort()].map((port) => `http://127.0.0.1:${String(port)}`);
  const [url, peer] = [clients as string, peers as string];
  const args = ['--data-dir', folder, '--listen-client-urls', url, '--advertise-client-urls', url];
  const cluster = ['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer];
  const child = spawn(program, [...args, ...cluster, '--initial-cluster', `default=${peer}`, '--log-level', 'error'], {
    stdio: 'ignore',
  });
  await until('etcd is healthy', async () => (await fetch(`${url}/health`)).ok);
  return {
    url,
    async stop() {
      child.kill('SIGKILL');
      await once(child, 'exit');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe.each(servers)('members in %s', (_name, start) => {
  let etcd: Etcd;
  const all: Joined[] = [];
  beforeAll(async () => {
    etcd = await start();
  });
  afterEach(async () => {
    for (const one of all.splice(0)) await one.leave();
  });
  afterAll(async () => {
    await etcd.stop();
  });

  function member(prefix: string, id: string, weight?: number): Joined {
    const joined = join(etcdMembership({ url: etcd.url, prefix, id, ...(weight !== undefined && { weight }) }));
    all.push(joined);
    return joined;
  }

  it('are the keys of their prefix, with their weights', async () => {
    const [one] = [member('a/', 'x'), member('a/', 'y', 3), member('b/', 'z')];

    await until('both are members', () => latest(one) === '{"x":1,"y":3}');
    expect(one.errors).toEqual([]);
  });

  it('are gone when they are not renewed, and back when they begin again', async () => {
    const [stays, ends] = [member('c/', 'x'), member('c/', 'y')];
    await until('both are members', () => latest(stays) === '{"x":1,"y":1}');
    await ends.leave();

    await until('one is', () => latest(stays) === '{"x":1}');
    member('c/', 'y');
    await until('both are again', () => latest(stays) === '{"x":1,"y":1}');
  });
});
