import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, createServer, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../packages/testkit/dist/free-port.js';
import { startRedis } from '../../../packages/testkit/dist/redis-server.js';
import { findEnvoy } from '../../setup/find-envoy.mjs';
import { Programs, root, until } from '../programs.mjs';

const example = join(root, 'examples/envoy');

/**
 * Two Envoys of examples/envoy in front of an upstream, two replicas of the service, one Redis: all on ports of their
 * own.
 */
export class Deployment {
  #folder = mkdtempSync(join(tmpdir(), 'sluice-envoy-'));
  #agents = [];
  #programs = new Programs();
  #upstream;
  /** Header fields that the upstream adds. */
  answerFields = {};
  redis;
  replicas = [];
  envoys = [];

  static async open() {
    const deployment = new Deployment();
    try {
      await deployment.#open();
    } catch (error) {
      await deployment.close();
      throw error;
    }
    return deployment;
  }

  async #open() {
    const envoy = findEnvoy();
    this.redis = await startRedis();
    this.#upstream = createServer((_request, response) => {
      response.writeHead(200, this.answerFields).end('hello\n');
    });
    this.#upstream.listen(0, '127.0.0.1');
    await once(this.#upstream, 'listening');
    for (let i = 0; i < 2; i++) {
      this.replicas.push({ grpc: await freePort(), admin: await freePort() });
      await this.startReplica(i);
    }
    for (let i = 0; i < 2; i++) this.envoys.push(await this.#startEnvoy(envoy, i));
    await until(
      'Envoy has found both replicas',
      async () => (await this.envoyCounted('cluster.sluice.membership_healthy')) === 4,
    );
  }

  async startReplica(i) {
    const { grpc, admin } = this.replicas[i];
    const listeners = { grpc, admin };
    // Long enough for a machine that does more than this.
    const flags = ['--redis', this.redis.url, '--timeout', '1s', '--drain', '5s'];
    this.replicas[i].program = await this.#programs.serve(join(example, 'limits.yaml'), listeners, ...flags);
  }

  /** Ends a replica with a signal, and waits until it has ended. Returns the exit code. */
  async endReplica(i, signal) {
    return this.replicas[i].program.end(signal);
  }

  async #startEnvoy(envoy, i) {
    const [front, admin] = [await freePort(), await freePort()];
    const [one, other] = this.replicas;
    const ports = [
      ...[
        [10_000, front],
        [9901, admin],
        [8081, one.grpc],
        [8181, other.grpc],
      ],
      [3000, this.#upstream.address().port],
    ];
    let text = readFileSync(join(example, 'envoy.yaml'), 'utf8').replace('timeout: 0.05s', 'timeout: 4s');
    for (const [written, port] of ports) {
      const changed = text.replace(`port_value: ${written} `, `port_value: ${port} `);
      if (changed === text) throw new Error(`envoy.yaml has no port ${written}`);
      text = changed;
    }
    const path = join(this.#folder, `envoy-${i}.yaml`);
    writeFileSync(path, text);
    const args = ['-c', path, '--concurrency', '1', '--use-dynamic-base-id', '--log-level', 'warning'];
    const { child } = this.#programs.start(envoy, [...args, '--log-path', join(this.#folder, `envoy-${i}.log`)]);
    await until('Envoy is ready', async () => {
      if (child.exitCode !== null) throw new Error(readFileSync(join(this.#folder, `envoy-${i}.log`), 'utf8'));
      return (await textOf(`http://127.0.0.1:${admin}/ready`).catch(() => '')).startsWith('LIVE');
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 64 });
    this.#agents.push(agent);
    return { front, admin, agent };
  }

  /** Sends a request through an Envoy, from an address of the loopback. */
  async ask(i, path, { headers = {}, from } = {}) {
    const { front, agent } = this.envoys[i % this.envoys.length];
    const connection = from === undefined ? { agent } : { localAddress: from, agent: false };
    const request = httpRequest({ host: '127.0.0.1', port: front, path, headers, ...connection });
    request.end();
    const [response] = await once(request, 'response');
    const chunks = await response.toArray();
    return { status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() };
  }

  /** A counter of a rule, of both replicas. */
  async counted(rule, counter) {
    const texts = await Promise.all(this.replicas.map(({ admin }) => textOf(`http://127.0.0.1:${admin}/metrics`)));
    return texts
      .map((text) =>
        Number(new RegExp(`^sluice_rule_${counter}_total\\{rule="${rule}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0),
      )
      .reduce((sum, one) => sum + one);
  }

  /** A counter of both Envoys. */
  async envoyCounted(name) {
    const texts = await Promise.all(this.envoys.map(({ admin }) => textOf(`http://127.0.0.1:${admin}/stats`)));
    return texts
      .map((text) => Number(new RegExp(`${name}: (\\d+)`).exec(text)?.[1] ?? 0))
      .reduce((sum, one) => sum + one);
  }

  async close() {
    for (const agent of this.#agents) agent.destroy();
    await this.#programs.close();
    this.#upstream?.close();
    this.#upstream?.closeAllConnections();
    await this.redis?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

async function textOf(url) {
  return (await fetch(url)).text();
}
