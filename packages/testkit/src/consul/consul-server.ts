import { freePort } from '../free-port.ts';
import { startProgram } from '../program.ts';
import { ConsulStub } from './consul-stub.ts';

/** An agent, real or a stub. */
export interface ConsulAgentUnderTest {
  readonly address: string;
  /** A token without any rights, if rights are checked. */
  weakToken(): Promise<string>;
  close(): Promise<void>;
}

/** The token with all rights, if rights are checked. */
export const CONSUL_MANAGEMENT = '11111111-2222-3333-4444-555555555555';

/**
 * The agents that tests run against: the stub, and the real Consul that `CONSUL` of the environment names, as
 * `npm run real -- consul` does.
 *
 * @param options - `acl`: whether rights are checked, and denied without {@link CONSUL_MANAGEMENT}.
 */
export function consulAgents({ acl = false }: { readonly acl?: boolean } = {}): readonly (readonly [
  name: string,
  start: () => Promise<ConsulAgentUnderTest>,
])[] {
  const program = process.env['CONSUL'] ?? '';
  const stub = ['a stub of Consul', () => ConsulStub.start()] as const;
  return program === '' ? [stub] : [stub, ['a real Consul', () => startConsul(program, acl)]];
}

const MANAGING = { 'X-Consul-Token': CONSUL_MANAGEMENT };
const ACL = `acl { enabled = true default_policy = "deny" tokens { initial_management = "${CONSUL_MANAGEMENT}" agent = "${CONSUL_MANAGEMENT}" } }`;

/** A real agent in development mode, which keeps nothing, on free ports of the loopback. */
export async function startConsul(program: string, acl = false): Promise<ConsulAgentUnderTest> {
  const [http, server, lan] = [await freePort(), await freePort(), await freePort()];
  const ports = `ports { http = ${String(http)} server = ${String(server)} serf_lan = ${String(lan)} serf_wan = -1 dns = -1 grpc = -1 grpc_tls = -1 }`;
  const args = ['agent', '-dev', '-bind', '127.0.0.1', '-client', '127.0.0.1', '-log-level=error', '-hcl', ports];
  if (acl) args.push('-hcl', ACL);
  const address = `http://127.0.0.1:${String(http)}`;
  const agent = await startProgram(program, args, () => isReady(address));
  return {
    address,
    async weakToken() {
      const made = await fetch(`${address}/v1/acl/token`, { method: 'PUT', headers: MANAGING, body: '{}' });
      return ((await made.json()) as { SecretID: string }).SecretID;
    },
    close: () => agent.kill(),
  };
}

/** Whether it has a leader, and its node. */
async function isReady(address: string): Promise<boolean> {
  const response = await fetch(`${address}/v1/health/service/consul?passing=true`, { headers: MANAGING });
  return response.status === 200 && ((await response.json()) as readonly unknown[]).length > 0;
}
