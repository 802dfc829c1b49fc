import { concurrency, createLimiter } from '@sluice/core';

const limiter = createLimiter({ name: 'jobs', policy: concurrency({ limit: 2, ttl: '30s' }) });

export async function runAll<Result>(jobs: readonly (() => Promise<Result>)[]): Promise<readonly Result[]> {
  return Promise.all(jobs.map(async (job) => limiter.run('jobs', job)));
}
