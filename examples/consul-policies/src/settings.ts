import type { PolicySource } from '@sluice/express';
import { consulSource } from './consul-source.ts';

/** The name of the limit in Consul, and of this application on its list. */
export const LIMIT = 'orders';
export const APP = 'shop';

/** The agent that Consul's own command line would ask. */
export function sourceOf({ CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN }: NodeJS.ProcessEnv): PolicySource {
  return consulSource({
    ...(CONSUL_HTTP_ADDR !== undefined && { address: addressOf(CONSUL_HTTP_ADDR) }),
    ...(CONSUL_HTTP_TOKEN !== undefined && { token: CONSUL_HTTP_TOKEN }),
  });
}

/** `127.0.0.1:8500` will do for Consul. */
function addressOf(text: string): string {
  return text.includes('://') ? text : `http://${text}`;
}
