import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/old-core';
import { createServer, type ServerOptions } from '../../src/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-token-'));
const [limits, rules] = [join(folder, 'limits.yaml'), join(folder, 'rules.yaml')];
beforeAll(() => {
  writeFileSync(limits, 'limits: { login: { fixedWindow: { limit: 2, window: 1h } } }\n');
  writeFileSync(rules, 'domain: d\ndescriptors: [{ key: k, rate_limit: { unit: day, requests_per_unit: 1 } }]\n');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** A name of the loopback that is not taken for it, as the address of a network would be. */
const ELSEWHERE = '[::ffff:127.0.0.1]:0';

async function linesAtStart(options: Partial<ServerOptions>): Promise<readonly string[]> {
  const lines: string[] = [];
  const server = await createServer({
    ...{ config: limits, store: memoryStore(), grpc: 'off', admin: 'off', http: ELSEWHERE },
    log: (line) => lines.push(line),
    ...options,
  });
  await server.close();
  return lines;
}

describe('a replica without a token, whose store others may share', () => {
  it('says at the start that replicas need one', async () => {
    expect(await linesAtStart({})).toEqual([
      expect.stringMatching(/^without --token \(SLUICE_TOKEN\) reservations and slots .* give all of them one token$/),
    ]);
  });

  it.each<[string, Partial<ServerOptions>]>([
    ['with a token', { token: 'token-of-the-tests' }],
    ['with a store of its own', { store: undefined }],
    ['on the loopback, where no signature is needed', { http: 0 }],
    ['without named limits', { config: rules }],
  ])('says nothing %s', async (_what, options) => {
    expect(await linesAtStart(options)).toEqual([]);
  });
});
