export { POLICY_KINDS, kindOf, type PolicyField, type PolicyKind } from './policy-kinds.ts';
export {
  MOST_POLICIES,
  checkedPolicies,
  newPolicy,
  optionsOf,
  withNames,
  type FieldError,
  type PolicyChoice,
} from './policies.ts';
export {
  COLUMNS,
  EMPTY,
  MOST_CLIENTS,
  MOST_IN_COLUMN,
  RETRY_CHOICES,
  SPANS_MS,
  clientNames,
  columnOf,
  offeredBy,
  type Offered,
  type Painted,
  type Pasted,
  type Retries,
  type Traffic,
} from './traffic.ts';
export { paint, spotAt, topOf, withClient, withoutClient, type Spot } from './paint.ts';
export { PRESETS, presetTraffic, type Preset } from './presets.ts';
export { parsePaste, type PasteResult } from './paste.ts';
export { START_MS, replay, type Answer, type ReplayOptions, type Replayed, type Sample } from './replay.ts';
export { busiestClients, columnsOf, totalsOf, type Column, type Totals } from './summary.ts';
export { HEADER_CHOICES, responseTo, type HeaderChoice, type Response } from './response.ts';
export {
  KEY_CHOICES,
  STORE_CHOICES,
  initialScenario,
  scaleOf,
  type KeyChoice,
  type Scenario,
  type StoreChoice,
} from './scenario.ts';
export { readLink, writeLink, type LinkRead } from './link.ts';
export { FRAMEWORKS, codeOf, type Framework } from './code/index.ts';
export type { Decision, PolicyDecision } from '@sluice/core';
export { writeDuration } from '@sluice/core/spi';
export { columnSpan, columnText, counted, outcomeOf, requestText, shownTime } from './texts.ts';
export { highlight, type Token } from './highlight.ts';
export { DRAWING, nearest, remainingPath, ticksPath } from './curves.ts';
