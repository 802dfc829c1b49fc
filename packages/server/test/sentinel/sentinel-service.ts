import type { ServerOptions } from '../../src/index.ts';
import { serve, type Served } from '../serve.ts';

/** A rule in Sentinel's JSON, with the fields that a test is about. */
export interface RuleFields {
  readonly flowId: number;
  readonly count: number;
  /** 0: per client; 1: global, the default here. */
  readonly thresholdType?: number;
  /** Of parameters: values with counts of their own. */
  readonly items?: readonly { readonly object: string; readonly count: number; readonly classType?: string }[];
}

/** So long that a slow machine does not see it end. */
const HOUR_MS = 3_600_000;

/** A file with these rules of the namespace `checkout`. Counts are those of a whole hour. */
export function limitsOf(rules: readonly RuleFields[], more = ''): string {
  const written = rules.map(({ flowId, count, thresholdType = 1, items }) => ({
    resource: `resource-${String(flowId)}`,
    count: count / (HOUR_MS / 1_000),
    clusterMode: true,
    clusterConfig: { flowId, thresholdType, windowIntervalMs: HOUR_MS },
    ...(items === undefined
      ? {}
      : {
          paramIdx: 0,
          paramFlowItemList: items.map((item) => ({ classType: 'java.lang.String', ...item })),
        }),
  }));
  return `sentinel:\n  namespace: checkout\n  ${more}\n  rules: ${JSON.stringify(written)}\n`;
}

/** A service whose only listener is that of Sentinel, on the loopback. */
export function serveSentinel(yaml: string, options: Partial<ServerOptions> = {}): Promise<Served> {
  return serve(yaml, { http: 'off', sentinel: 0, sentinelTimeoutMs: 60_000, ...options });
}
