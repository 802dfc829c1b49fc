import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll } from '@jest/globals';
import { findProgram, freePort, listen, open, startProgram, type RunningProgram } from '@sluice/testkit';
import { serve, type Served } from '../../serve.ts';
import type { GatewayTarget, Ports, Variant } from './gateway-target.ts';

/** A service, an application, and a gateway before both, each over real connections. */
export interface Stack {
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
  const folder = mkdtempSync(join(tmpdir(), `sluice-${target.program}-`));
  const notServed: RequestListener = (_request, response) => response.writeHead(500).end('no application');
  let listener = notServed;
  let app: Awaited<ReturnType<typeof listen>> | undefined;
  let ports: Ports | undefined;
  let gateway: RunningProgram | undefined;
  let service: Served | undefined;

  beforeAll(async () => {
    app = await listen((request, response) => {
      listener(request, response);
    });
    for (let attempt = 1; gateway === undefined; attempt++) {
      ports = { gateway: await freePort(), service: await freePort(), app: app.port };
      try {
        gateway = await startGateway(folder, target, ports, variant);
      } catch (error) {
        if (attempt === 3) throw error; // another process can take a port between the check and the start
      }
    }
  });
  const stack: Stack = {
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
      service = await serve(written, { http: stack.ports.service });
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
    await gateway?.kill();
    await app?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return stack;
}

/** Starts a gateway in a folder, and waits until it accepts connections. It ends with this process at the latest. */
async function startGateway(
  folder: string,
  target: GatewayTarget,
  ports: Ports,
  variant: Variant,
): Promise<RunningProgram> {
  for (const [name, text] of Object.entries(target.files(ports, variant))) writeFileSync(join(folder, name), text);
  const path = findProgram(target.program);
  if (path === undefined) throw new Error(`no ${target.program}: run \`node scripts/setup/test-tools.mjs\``);
  const isReady = async (): Promise<void> => void (await open(ports.gateway)).destroy();
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return startProgram(path, target.args(folder), isReady, { cwd: folder, env });
}
