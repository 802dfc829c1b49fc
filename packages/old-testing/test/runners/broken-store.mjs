// A store with a fault, which the suite has to find: it forgets the cost of a request.
import * as runner from 'node:test';
import { memoryStore } from '@sluice/old-core';
import { describeStore } from '@sluice/old-testing';

function forgetful(clock) {
  const store = memoryStore({ clock });
  const withoutCost = (part) => ({ ...part, cost: Math.min(part.cost, 1) });
  return {
    source: 'remote',
    perform: (requests) =>
      store.perform(
        requests.map((request) =>
          'parts' in request ? { ...request, parts: request.parts.map(withoutCost) } : request,
        ),
      ),
  };
}

describeStore('that is broken', { source: 'remote', create: forgetful }, runner);
