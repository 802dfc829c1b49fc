// Follows a source of policies that misbehaves, decides once, closes, and ends when no handle keeps it alive.
// Prints how close() ended, and whether the store was closed. Unhandled errors are printed and set the exit code.
//
// argv: what the source does
import { createLimiter, memoryStore, silenceWarnings } from '@sluice/old-core';
import { createPolicies, managed } from '@sluice/old-managed';

const fail = () => {
  throw new Error('the source is broken');
};
const failLater = () => Promise.reject(new Error('the source is broken'));
const hang = () => new Promise(() => undefined);
const sources = {
  'unwatch throws': { watch: () => fail },
  'unwatch rejects': { watch: () => failLater },
  'unwatch hangs': { watch: () => hang },
  'unwatch is no function': { watch: () => 42 },
  'watch throws': { watch: fail },
  'watch rejects': { watch: failLater },
  'watch hangs': { watch: hang },
  'watch answers nothing': { watch: () => undefined },
  'close throws': { close: fail },
  'close rejects': { close: failLater },
  'load throws': { load: fail },
  'load rejects': { load: failLater },
  'load hangs': { load: hang },
};

silenceWarnings('SLUICE_POLICY_UNCONFIGURED', 'SLUICE_POLICIES_UNKNOWN');
process.on('unhandledRejection', (error) => {
  console.log('unhandled', error);
  process.exitCode = 1;
});

let isStoreClosed = false;
const memory = memoryStore();
const store = {
  source: memory.source,
  perform: (requests, call) => memory.perform(requests, call),
  close: async () => {
    isStoreClosed = true;
  },
};
const limiter = createLimiter({
  policy: managed('orders'),
  app: 'checkout',
  policies: createPolicies({ load: async () => ({}), ...sources[process.argv[2]] }),
  store,
  onStoreError: 'deny',
  timeoutMs: 50,
});
const { outcome } = await limiter.consume('ann');
const ended = await limiter.close().then(
  () => 'closed',
  (error) => error.message,
);
console.log(JSON.stringify({ outcome, ended, isStoreClosed }));
