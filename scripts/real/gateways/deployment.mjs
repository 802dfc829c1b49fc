import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { consulSource } from '../../../examples/consul-policies/dist/consul-source.js';
import { nginxConf } from '../../../examples/gateway/dist/nginx-conf.js';
import { fixedWindow } from '../../../packages/core/dist/index.js';
import { createPolicies } from '../../../packages/core/dist/managed.js';
import { startConsul } from '../../../packages/testkit/dist/consul/consul-server.js';
import { freePort } from '../../../packages/testkit/dist/free-port.js';
import { findConsul } from '../../setup/find-consul.mjs';
import { cache } from '../../setup/cache.mjs';

const gateway = fileURLToPath(new URL('gateway.mjs', import.meta.url));
/** How long an answer of Consul counts for a gateway, and how long the check of one that is dead passes. */
const TTL_MS = 3000;
const CHECK_TTL_MS = 1500;

/** Consul, three gateways that register themselves, and nginx, whose upstreams and weights are those of Consul. */
export class Deployment {
  #folder = mkdtempSync(join(tmpdir(), 'sluice-gateways-'));
  #consul;
  #policies;
  #nginx;
  #gateways = new Map();
  #isClosed = false;
  port;

  static async open(weights, limit) {
    const deployment = new Deployment();
    try {
      await deployment.#open(weights, limit);
    } catch (error) {
      await deployment.close();
      throw error;
    }
    return deployment;
  }

  async #open(weights, limit) {
    this.#consul = await startConsul(findConsul());
    this.#policies = createPolicies(consulSource({ address: this.#consul.address }));
    this.port = await freePort();
    await this.setLimit(limit);
    await Promise.all(Object.entries(weights).map(([id, weight]) => this.start(id, weight)));
    const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:${cache}` };
    this.#configure((await this.#listed(0)).gateways);
    this.#nginx = spawn(process.env['NGINX'] ?? 'nginx', ['-p', this.#folder, '-c', 'nginx.conf', '-e', 'stderr'], {
      env,
      stdio: 'ignore',
    });
    while (!(await this.#listens())) await sleep(20);
    void this.#follow();
  }

  /** Changes the limit in Consul, and returns when that was written. */
  async setLimit(limit) {
    await this.#policies.put('api', fixedWindow({ limit, window: '1s', align: 'clock' }), { apps: ['gateway'] });
    return Date.now();
  }

  /** Starts a gateway, and returns when it has its share and listens. */
  async start(id, weight) {
    const port = this.#gateways.get(id)?.port ?? (await freePort());
    const env = {
      ...process.env,
      ...{ ADDRESS: this.#consul.address, ID: id, WEIGHT: weight, PORT: port },
      ...{ TTL_MS, CHECK_TTL_MS },
    };
    const child = spawn(process.execPath, [gateway], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#gateways.set(id, { child, port });
    await once(child.stdout, 'data');
  }

  async kill(id) {
    const { child } = this.#gateways.get(id);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Waits until Consul lists so many gateways. */
  async lists(count) {
    let answer = await this.#listed(0);
    while (answer.gateways.length !== count) answer = await this.#listed(answer.index);
  }

  async close() {
    this.#isClosed = true; // the query that waits ends with Consul
    for (const { child } of this.#gateways.values()) child.kill('SIGKILL');
    this.#nginx?.kill('SIGTERM');
    await this.#policies?.close();
    await this.#consul?.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** As consul-template does: what Consul lists is the configuration of nginx. */
  async #follow() {
    let index = 0;
    while (!this.#isClosed) {
      const answer = await this.#listed(index).catch(() => undefined);
      if (answer === undefined || this.#isClosed) return;
      ({ index } = answer);
      if (answer.gateways.length === 0) continue;
      this.#configure(answer.gateways);
      this.#nginx.kill('SIGHUP');
    }
  }

  async #listens() {
    const response = await fetch(`http://127.0.0.1:${this.port}/`).catch(() => undefined);
    return response !== undefined;
  }

  #configure(gateways) {
    writeFileSync(join(this.#folder, 'nginx.conf'), nginxConf({ port: this.port, gateways }));
  }

  async #listed(index) {
    const url = `${this.#consul.address}/v1/health/service/gateways?passing=true&near=_agent&wait=30s&index=${index}`;
    const response = await fetch(url);
    const gateways = (await response.json()).map(({ Service }) => ({
      address: `${Service.Address}:${Service.Port}`,
      weight: Service.Weights.Passing,
    }));
    return { gateways, index: response.headers.get('x-consul-index') };
  }
}
