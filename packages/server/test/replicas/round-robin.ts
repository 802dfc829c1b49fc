import { credentials, Metadata, status } from '@grpc/grpc-js';
import { descriptor } from '../rls/running-service.ts';
import { GenericClient, METHODS, type RequestFields } from '../rls/protocol.ts';

/** A client of gRPC that spreads its calls over several services, and goes on with those that it reaches. */
export class RoundRobin {
  readonly #client: InstanceType<typeof GenericClient>;
  /** The addresses that have answered. */
  readonly seen: Set<string> = new Set();

  constructor(ports: readonly number[]) {
    const addresses = ports.map((port) => `127.0.0.1:${String(port)}`);
    this.#client = new GenericClient(`ipv4:${addresses.join()}`, credentials.createInsecure(), {
      'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
      'grpc.use_local_subchannel_pool': 1,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 200,
    });
  }

  /** Calls ShouldRateLimit. Resolves to the name of the status. */
  async ask(user: string): Promise<string> {
    const { path, requestSerialize, responseDeserialize } = METHODS.shouldRateLimit;
    const request: RequestFields = { domain: 'shop', descriptors: [descriptor(`user=${user}`)] };
    return new Promise((resolve) => {
      const call = this.#client.makeUnaryRequest(
        ...([path, requestSerialize, responseDeserialize, request, new Metadata()] as const),
        (error) => {
          if (error === null) this.seen.add(call.getPeer());
          resolve(status[error?.code ?? status.OK]);
        },
      );
    });
  }

  close(): void {
    this.#client.close();
  }
}
