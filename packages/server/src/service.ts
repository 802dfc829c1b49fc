import type { LimiterCore } from '@sluice/core/spi';
import type { Access } from './access.ts';
import type { Stats } from './stats/stats.ts';
import type { Configuration } from './config/configuration.ts';
import type { RequestRules } from './config/request-rules.ts';
import type { Health } from './health/health.ts';

/** What every protocol of the service uses to decide. */
export interface Service {
  /** Makes the limits of descriptors and decides over them. Its name is `service`. */
  readonly core: LimiterCore;
  /** The current configuration. Another object after a reload, so a request reads it once. */
  readonly configuration: Configuration;
  /** The rules of limits that requests bring with them. */
  readonly requestRules: RequestRules;
  readonly health: Health;
  readonly access: Access;
  readonly stats: Stats;
  /** How long a decision may wait, in milliseconds; less if the caller's own deadline is shorter. */
  readonly timeoutMs: number;
}
