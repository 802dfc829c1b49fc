import { Redis } from 'ioredis';

const PATIENCE_MS = 2000;

/** Tries to connect, once, for the sake of the reason: ECONNREFUSED, a wrong password. Undefined when there is nothing wrong, or nothing to be learned. */
export async function connectionTrouble(url: string): Promise<string | undefined> {
  const redis = new Redis(url, { lazyConnect: true, connectTimeout: PATIENCE_MS, retryStrategy: () => null });
  let trouble: string | undefined;
  redis.on('error', (error: Error) => {
    trouble ??= error.message;
  });
  const patience = setTimeout(() => {
    trouble ??= `no answer within ${String(PATIENCE_MS)} ms`;
    redis.disconnect();
  }, PATIENCE_MS);
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    trouble ??= error instanceof Error ? error.message : String(error);
  } finally {
    clearTimeout(patience);
    redis.disconnect();
  }
  return trouble;
}
