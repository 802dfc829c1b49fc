/** The contents of a file of limits, for tools. The service itself reads it by `createServer`. */
export { loadConfiguration } from './config/configuration-files.ts';
export type { ReadOptions } from './config/read-configuration.ts';
export { ConfigurationError } from './config/configuration-error.ts';
export type {
  Configuration,
  DescriptorEntry,
  ForwardAuthRule,
  ForwardAuthSettings,
  LimitOf,
  Match,
  NamedLimit,
  Rule,
  RuleTree,
  SentinelNumbers,
  SentinelRule,
  SentinelSettings,
  Unit,
} from './config/configuration.ts';
export type { KeyOverride, OverriddenPolicy } from './config/overridden-limit.ts';
export { RouteTable, type RuleRoute } from './forward-auth/route-table.ts';
export { PathPattern } from './forward-auth/path-pattern.ts';
export { spellingsOf } from './forward-auth/methods.ts';
