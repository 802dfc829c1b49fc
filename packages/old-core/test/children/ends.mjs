// Decides by a URL within so many milliseconds, closes, and has nothing more to do: it ends when no handle keeps it
// alive. Without the milliseconds it neither decides nor closes. Unhandled errors are printed and set the exit code.
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';

const [, , url, timeoutMs] = process.argv;
process.on('unhandledRejection', (error) => {
  console.log('unhandled', error);
  process.exitCode = 1;
});
const limiter = createLimiter({
  policy: fixedWindow({ limit: 10, window: '1h' }),
  store: redisStore(url, { prefix: 'sluice' }),
  timeoutMs: Number(timeoutMs ?? 100),
});
if (timeoutMs !== undefined) {
  const { source } = await limiter.consume('key');
  console.log(source);
  await limiter.close();
}
