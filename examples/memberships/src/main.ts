import { createLimiter, fixedWindow } from '@sluice/core';
import { splitStore } from '@sluice/core/split';
import { dnsMembership } from './dns-membership.ts';
import { endpointSlicesMembership } from './endpoint-slices-membership.ts';

// One instance of a service, whose limit is split over the live ones.
const { POD_NAME, POD_NAMESPACE = 'default', SERVICE = 'gateways', SELF = '127.0.0.1', DNS_SERVER } = process.env;

const membership =
  POD_NAME === undefined
    ? dnsMembership({ name: SERVICE, self: SELF, ...(DNS_SERVER !== undefined && { servers: [DNS_SERVER] }) })
    : endpointSlicesMembership({ namespace: POD_NAMESPACE, service: SERVICE, pod: POD_NAME });
const limiter = createLimiter({
  policy: fixedWindow({ limit: 100, window: '1s', align: 'clock' }),
  store: splitStore({ membership }),
  onStoreError: 'deny',
});

// For the demonstration: the share is what is left of a key without traffic.
const timer = setInterval(() => {
  void limiter.peek(`${membership.id} looks`).then(({ outcome, remaining }) => {
    console.log(`${membership.id}: ${outcome === 'unavailable' ? outcome : `${String(remaining)} of 100 a second`}`);
  });
}, 1000);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    clearInterval(timer);
    void limiter.close();
  });
}
