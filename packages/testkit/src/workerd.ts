import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
// @ts-expect-error -- it has no types
import workerdPackage from 'workerd';
import { freePort } from './free-port.ts';
import { newFolder, startProgram } from './program.ts';

/** The runtime of Cloudflare Workers. */
export interface Workerd {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts a Worker, whose binding LIMITS refers to the objects of its class SluiceObject. It answers a GET with 200. */
export async function startWorkerd(entryPoint: URL): Promise<Workerd> {
  const folder = newFolder('workerd');
  const url = `127.0.0.1:${String(await freePort())}`;
  await build({
    entryPoints: [fileURLToPath(entryPoint)],
    ...{ bundle: true, format: 'esm', conditions: ['@sluice/source'], external: ['ioredis'], logLevel: 'silent' },
    outfile: join(folder, 'worker.mjs'),
  });
  mkdirSync(join(folder, 'disk'));
  const config = join(folder, 'config.capnp');
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
      compatibilityDate = "2026-01-01",
      durableObjectNamespaces = [(className = "SluiceObject", uniqueKey = "limits", enableSql = true)],
      durableObjectStorage = (localDisk = "disk"),
      bindings = [(name = "LIMITS", durableObjectNamespace = "SluiceObject")],
    )),
    (name = "disk", disk = (path = "${join(folder, 'disk')}", writable = true)),
  ],
  sockets = [(name = "http", address = "${url}", http = (), service = "main")],
);`,
  );
  const path = (workerdPackage as { readonly default: string }).default;
  const isReady = async (): Promise<boolean> => (await fetch(`http://${url}`)).ok;
  const workerd = await startProgram(path, ['serve', config], isReady, { folder });
  return { url: `http://${url}`, stop: workerd.stop };
}
