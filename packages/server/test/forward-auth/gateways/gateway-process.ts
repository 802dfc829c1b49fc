import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '@sluice/testkit';
import type { GatewayTarget, Ports, Variant } from './gateway-target.ts';

const cache = fileURLToPath(new URL('../../../../../node_modules/.cache/sluice', import.meta.url));

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** A gateway that runs in a folder of its own. */
export interface GatewayProcess {
  stop(): Promise<void>;
}

/** Starts a gateway, and waits until it accepts connections. It ends with this process at the latest. */
export async function startGateway(target: GatewayTarget, ports: Ports, variant: Variant): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${target.program}-`));
  for (const [name, text] of Object.entries(target.files(ports, variant))) writeFileSync(join(folder, name), text);
  const child = spawn(programPath(target.program), target.args(folder), {
    cwd: folder,
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let log = '';
  const read = (text: Buffer): void => void (log += text.toString());
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const stop = async (): Promise<void> => {
    if (!hasEnded()) {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }
    running.delete(child);
    rmSync(folder, { recursive: true, force: true });
  };
  await until(`${target.name} accepts connections`, async () => hasEnded() || accepted(ports.gateway));
  if (!hasEnded()) return { stop };
  await stop();
  throw new Error(`${target.name} did not start:\n${log}`);
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

/** The program that scripts/setup/test-tools.mjs found or unpacked. */
function programPath(name: string): string {
  const named = process.env[name.toUpperCase()] ?? '';
  if (named !== '') return named;
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', cache];
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  if (found === undefined)
    throw new Error(`no ${name}: run \`node scripts/setup/test-tools.mjs\`, or set ${name.toUpperCase()}`);
  return found;
}
