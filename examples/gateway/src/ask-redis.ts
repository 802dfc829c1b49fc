import { Redis } from 'ioredis';
import { SettingError } from './settings.ts';

const ANSWERED_WITHIN_MS = 5000;

/**
 * Checks that Redis is reachable and accepts the login.
 *
 * @throws SettingError when it does not.
 */
export async function askRedis(url: string): Promise<void> {
  const client = new Redis(url, {
    ...{ lazyConnect: true, retryStrategy: () => null, maxRetriesPerRequest: 0 },
    ...{ connectTimeout: ANSWERED_WITHIN_MS, commandTimeout: ANSWERED_WITHIN_MS },
  });
  let trouble: unknown;
  client.on('error', (error) => (trouble = error));
  try {
    await client.connect();
    await client.time(); // what every limiter has to be allowed: see docs/guides/redis-permissions.md
  } catch (error) {
    // The URL may hold a password.
    throw new SettingError(
      `--redis names ${new URL(url).host}, which does not answer: ${((trouble ?? error) as Error).message}`,
    );
  } finally {
    client.disconnect();
  }
}
