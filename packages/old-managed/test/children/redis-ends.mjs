// Has a limiter with a managed policy on a Redis, and ends when no handle keeps it alive. Unhandled errors are printed
// and set the exit code.
//
// argv: url, what is done, and how long a decision may take, in milliseconds:
//   close           closes it at once
//   decide, close   decides once, then closes it
//   close at once   decides, and closes it without waiting for the decision
//   leave open      decides over a client of its own, prints that, waits for input, disconnects the client, and leaves the
//                   limiter open
import { once } from 'node:events';
import { Redis } from 'ioredis';
import { createLimiter, redisStore, silenceWarnings } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';

const [, , url, what, timeoutMs = '500'] = process.argv;
silenceWarnings('SLUICE_POLICY_UNCONFIGURED', 'SLUICE_POLICIES_UNKNOWN');
process.on('unhandledRejection', (error) => {
  console.log('unhandled', error);
  process.exitCode = 1;
});

const client = what === 'leave open' ? new Redis(url, { retryStrategy: () => 50 }) : undefined;
client?.on('error', () => undefined);
const limiter = createLimiter({
  policy: managed('orders'),
  app: 'checkout',
  store: redisStore(client ?? url, { prefix: 'sluice' }),
  onStoreError: 'deny',
  timeoutMs: Number(timeoutMs),
});
if (what === 'leave open') {
  const { outcome } = await limiter.consume('ann');
  console.log(outcome);
  process.stdin.resume();
  await once(process.stdin, 'data');
  process.stdin.destroy();
  client.disconnect();
} else {
  const decided = what === 'close' ? undefined : limiter.consume('ann');
  if (what === 'decide, close') await decided;
  await limiter.close();
  if (decided !== undefined) console.log((await decided).outcome);
  console.log('closed');
}
