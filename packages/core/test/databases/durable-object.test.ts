// The objects run in workerd, the runtime of Cloudflare's Workers.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as jest from '@jest/globals';
import { freePort, until } from '@sluice/testkit';
import { build } from 'esbuild';
import { fixedWindow } from '../../src/policies/fixed-window.ts';
import { USED } from '../../src/program/decide.ts';
import type { Answer, Store } from '../../src/stores/store.ts';
import { describeStore } from '../../src/testing/index.ts';

const { afterAll, beforeAll, describe, expect, it } = jest;

const CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
    compatibilityDate = "2026-01-01",
    durableObjectNamespaces = [(className = "SluiceObject", uniqueKey = "limits", enableSql = true)],
    durableObjectStorage = (localDisk = "disk"),
    bindings = [(name = "LIMITS", durableObjectNamespace = "SluiceObject")],
  )), (name = "disk", disk = (path = "FOLDER", writable = true))],
  sockets = [(name = "http", address = "127.0.0.1:PORT", http = (), service = "main")],
);`;

const folder = mkdtempSync(join(tmpdir(), 'sluice-workerd-'));
let workerd: ChildProcess;
let url: string;
beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${String(port)}`;
  writeFileSync(
    join(folder, 'config.capnp'),
    CONFIG.replace('PORT', String(port)).replace('FOLDER', mkdirSync(join(folder, 'disk'), { recursive: true }) ?? ''),
  );
  await build({
    entryPoints: [fileURLToPath(new URL('worker.ts', import.meta.url))],
    ...{ bundle: true, format: 'esm', external: ['ioredis'], outfile: join(folder, 'worker.mjs'), logLevel: 'silent' },
  });
  const { default: program } = createRequire(import.meta.url)('workerd') as { readonly default: string };
  workerd = spawn(program, ['serve', join(folder, 'config.capnp')], { stdio: 'inherit' });
  await until('workerd listens', async () => (await fetch(url)).ok);
});
afterAll(async () => {
  const ended = once(workerd, 'exit');
  workerd.kill();
  await ended;
  rmSync(folder, { recursive: true });
});

/** Asks the Worker: one object for all keys, or the store. */
const ask =
  (path: 'object' | 'store'): Store['perform'] =>
  async (op, asks) => {
    const response = await fetch(`${url}/${path}`, { method: 'POST', body: JSON.stringify({ op, asks }) });
    if (!response.ok) throw new Error(await response.text());
    const { atMs, figures } = (await response.json()) as Answer;
    return { atMs, figures: Array.from(figures, (all) => Array.from(all)) }; // of this realm
  };

describeStore('in a Durable Object', () => ({ source: 'durable-object', perform: ask('object') }), jest);

describe('a store in Durable Objects', () => {
  const perform = ask('store');
  const asks = (['ann', 'bob', 'cid'] as const).map((subject, i) => ({
    key: `{${subject}}:api`,
    policy: fixedWindow({ limit: 20 + i, window: '1h' }),
    cost: 1,
  }));

  it('never allows more than the limit of one of several objects, and gives back what the others took', async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => perform('take', asks)));

    const allowed = answers.filter(({ figures }) => figures.every(([isAllowed]) => isAllowed === 1)).length;
    expect(allowed).toBeLessThanOrEqual(20);
    expect(allowed).toBeGreaterThan(0);
    await until('it is given back', async () => {
      const { figures } = await perform('peek', asks);
      return figures.every((told) => told[USED] === allowed);
    });
  });

  it('edits keys of several objects', async () => {
    await perform('reset', asks);

    expect((await perform('peek', asks)).figures.map((told) => told[USED])).toEqual([0, 0, 0]);
  });
});
