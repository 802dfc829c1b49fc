import * as jest from '@jest/globals';
import {
  describeAdapter as describeWith,
  type AdapterTarget,
  type ContractPart,
  type ContractTarget,
} from '@sluice/testing/adapter';
import { factor } from './depth.ts';
import { testSeed } from './random.ts';
import { startRedis } from './redis-server.ts';

/** The contract of every adapter, or parts of it, against a Redis server of its own. */
export function describeAdapter(target: AdapterTarget | ContractTarget, parts?: readonly ContractPart[]): void {
  const redis = async (): Promise<{ url: string; adminUrl: string; close: () => Promise<void> }> => {
    const server = await startRedis();
    return { url: server.storeUrl, adminUrl: server.url, close: async () => server.stop() };
  };
  describeWith(target, { ...(parts && { parts }), redis, seed: testSeed(42), effort: factor }, jest);
}
