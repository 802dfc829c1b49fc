import { createLimiter, fixedWindow } from '@sluice/core';
import { splitStore } from '@sluice/split';
import { endpointSlicesMembership } from './endpoint-slices-membership.ts';
import { etcdMembership } from './etcd-membership.ts';

// One instance of a service, whose limit is split over the live ones: start it several times, with an ID each.
const {
  ETCD_URL = 'http://127.0.0.1:2379',
  ID = String(process.pid),
  POD_NAME,
  POD_NAMESPACE = 'default',
} = process.env;
const WEIGHT = Number(process.env['WEIGHT'] ?? 1);

const membership =
  POD_NAME === undefined
    ? etcdMembership({ url: ETCD_URL, prefix: 'gateways/', id: ID, weight: WEIGHT })
    : endpointSlicesMembership({ namespace: POD_NAMESPACE, service: 'gateways', pod: POD_NAME });
const limiter = createLimiter({
  policy: fixedWindow({ limit: 100, window: '1s', align: 'clock' }),
  store: splitStore({ membership }),
  onStoreError: 'deny',
});

// For the demonstration: the share is what is left of a key without traffic.
const timer = setInterval(() => {
  void limiter.peek(`${ID} looks`).then(({ outcome, remaining }) => {
    console.log(`${membership.id}: ${outcome === 'unavailable' ? outcome : `${String(remaining)} of 100 a second`}`);
  });
}, 1000);
process.once('SIGINT', () => {
  clearInterval(timer);
  void limiter.close();
});
