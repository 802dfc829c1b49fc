import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { freePort } from '@sluice/testkit';
import { createServer, type RunningServer } from '../../../src/index.ts';
import { startGateway, type GatewayProcess } from './gateway-process.ts';
import type { GatewayTarget, Ports, Variant } from './gateway-target.ts';

/** Longer than a busy machine keeps a request waiting. */
const PATIENCE_MS = 60_000;

/** A service, an application, and a gateway before both, each over real connections. */
export interface Stack {
  readonly target: GatewayTarget;
  readonly ports: Ports;
  /** Starts the service with these rules, one a line, as YAML. It stops when the test ends. */
  limit(...rules: readonly string[]): Promise<void>;
  /** As {@link limit}, with a whole configuration. */
  configure(written: string): Promise<void>;
  /** Ends the service. */
  stopService(): Promise<void>;
  /** Answers the requests that the gateway forwards, until the test ends. */
  serve(app: RequestListener): void;
}

/** Starts a gateway before the tests, and stops it after them. Call it inside `describe`. */
export function useStack(target: GatewayTarget, variant: Variant = { isPatient: true }): Stack {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-stack-'));
  const config = join(folder, 'limits.yaml');
  const notServed: RequestListener = (_request, response) => response.writeHead(500).end('no application');
  let listener = notServed;
  const app = createHttpServer((request, response) => {
    listener(request, response);
  });
  let ports: Ports | undefined;
  let gateway: GatewayProcess | undefined;
  let service: RunningServer | undefined;

  beforeAll(async () => {
    app.listen(0, '127.0.0.1');
    await once(app, 'listening');
    const { port } = app.address() as { port: number };
    for (let attempt = 1; gateway === undefined; attempt++) {
      ports = { gateway: await freePort(), service: await freePort(), app: port };
      try {
        gateway = await startGateway(target, ports, variant);
      } catch (error) {
        if (attempt === 3) throw error; // another process can take a port between the check and the start
      }
    }
  });
  const stack: Stack = {
    target,
    get ports() {
      if (ports === undefined) throw new Error('the tests have not begun');
      return ports;
    },
    async limit(...rules) {
      const lines = rules.map((rule) => `    - { ${rule} }`);
      await stack.configure(`forward_auth:\n  trusted_proxies: [127.0.0.1]\n  rules:\n${lines.join('\n')}\n`);
    },
    async configure(written) {
      await stack.stopService();
      writeFileSync(config, written);
      const http = stack.ports.service;
      service = await createServer({
        ...{ config, http, grpc: 'off', admin: 'off', timeoutMs: PATIENCE_MS },
        log: () => undefined,
      });
    },
    async stopService() {
      await service?.close();
      service = undefined;
    },
    serve(served) {
      listener = served;
    },
  };
  afterEach(async () => {
    listener = notServed;
    await stack.stopService();
  });
  afterAll(async () => {
    await gateway?.stop();
    app.closeAllConnections();
    app.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return stack;
}
