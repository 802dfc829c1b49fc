import type { ClientStatistics } from './client-statistics.ts';
import type { DecisionStatistics } from './decision-statistics.ts';
import type { SharedBudget } from './shared-budget.ts';

/** All that is known of this run: what the summary is made of. */
export interface Run {
  readonly url: string;
  /** `memory`, or where Redis is. */
  readonly storeLabel: string;
  readonly onRedis: boolean;
  readonly startedAtMs: number;
  readonly decisions: DecisionStatistics;
  readonly clients: ClientStatistics;
  /** That of the one account the whole botnet is after. */
  readonly targetBudget: SharedBudget;
}
