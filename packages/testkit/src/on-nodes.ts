import type { Store } from '@sluice/old-core';
import { SeveralNodes } from '@sluice/old-core/spi';

/** A store over nodes of which each performs requests for one subject: a Redis Cluster without the servers. */
export function onNodes<Node extends Store>(node: Node): Node {
  const nodes = new SeveralNodes((requests, call) => node.perform(requests, call));
  return new Proxy(node, {
    get(target, name) {
      if (name === 'perform') return nodes.perform.bind(nodes);
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}
