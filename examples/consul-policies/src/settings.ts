import type { PolicySource } from '@sluice/core/managed';
import { consulSource } from './consul-source.ts';

/** The name of the limit in Consul, and of this application on its list. */
export const LIMIT = 'orders';
export const APP = 'shop';

/**
 * The agent that Consul's own command line uses.
 *
 * @throws TypeError that names the variable, for an address that is none.
 */
export function sourceOf({ CONSUL_HTTP_ADDR, CONSUL_HTTP_TOKEN }: NodeJS.ProcessEnv): PolicySource {
  try {
    return consulSource({
      ...(CONSUL_HTTP_ADDR !== undefined && { address: addressOf(CONSUL_HTTP_ADDR) }),
      ...(CONSUL_HTTP_TOKEN !== undefined && { token: CONSUL_HTTP_TOKEN }),
    });
  } catch (error) {
    throw new TypeError(`CONSUL_HTTP_ADDR: ${messageOf(error)}`, { cause: error });
  }
}

/** The error in one line, without a stack: wrong settings and an unreachable Consul are not bugs. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ');
}

/** `127.0.0.1:8500` is enough for Consul. */
function addressOf(text: string): string {
  return text.includes('://') ? text : `http://${text}`;
}
