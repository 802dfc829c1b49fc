import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findProgram, startProgram } from '@sluice/testkit';
import type { GatewayTarget, Ports, Variant } from './gateway-target.ts';

/** A gateway that runs in a folder of its own. */
export interface GatewayProcess {
  stop(): Promise<void>;
}

/** Starts a gateway, and waits until it accepts connections. It ends with this process at the latest. */
export async function startGateway(target: GatewayTarget, ports: Ports, variant: Variant): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${target.program}-`));
  for (const [name, text] of Object.entries(target.files(ports, variant))) writeFileSync(join(folder, name), text);
  const path = findProgram(target.program);
  if (path === undefined) throw new Error(`no ${target.program}: run \`node scripts/setup/test-tools.mjs\``);
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const options = { cwd: folder, env };
  const program = await startProgram(path, target.args(folder), () => accepted(ports.gateway), options);
  return {
    async stop() {
      await program.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function accepted(port: number): Promise<true> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}
