import { readFile } from 'node:fs/promises';
import { pollMembership, type Membership } from '@sluice/core/split';

export interface EndpointSlicesMembershipOptions {
  readonly namespace: string;
  /** The name of the service whose pods are the members. */
  readonly service: string;
  /** The name of this pod. */
  readonly pod: string;
  /** Default: the API server as a pod reaches it. */
  readonly url?: string;
  /** Where the token of the service account is. Default: where Kubernetes mounts it. */
  readonly tokenFile?: string;
}

const TOKEN_FILE = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/**
 * The ready pods of a service in Kubernetes, all of equal weight. The account of the pod may `list` the resource
 * `endpointslices` of `discovery.k8s.io`, and the process runs with `NODE_EXTRA_CA_CERTS` set to the cluster's ca.crt.
 */
export function endpointSlicesMembership(options: EndpointSlicesMembershipOptions): Membership {
  const { namespace, service, pod, url = 'https://kubernetes.default.svc', tokenFile = TOKEN_FILE } = options;
  const selector = encodeURIComponent(`kubernetes.io/service-name=${service}`);
  const slices = `${url}/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?labelSelector=${selector}`;
  const members = async (signal: AbortSignal): Promise<Record<string, number>> => {
    const token = (await readFile(tokenFile, 'utf8')).trim(); // it is renewed while the pod runs
    const response = await fetch(slices, { headers: { Authorization: `Bearer ${token}` }, signal, redirect: 'error' });
    if (!response.ok) throw new Error(`Kubernetes answered ${String(response.status)} for the slices of ${service}`);
    const { items } = (await response.json()) as SliceList;
    const ready = items
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false);
    // A pod with addresses of two kinds is in two slices.
    return Object.fromEntries(ready.flatMap(({ targetRef }) => (targetRef === undefined ? [] : [[targetRef.name, 1]])));
  };
  return pollMembership({ id: pod, members, everyMs: 2000, ttlMs: 10_000 });
}

interface SliceList {
  readonly items: readonly {
    readonly endpoints?: readonly {
      /** Absent or null: ready. */
      readonly conditions?: { readonly ready?: boolean | null };
      readonly targetRef?: { readonly name: string };
    }[];
  }[];
}
