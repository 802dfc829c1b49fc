import { PolicyError } from '@sluice/old-core';
import type { Layer } from '@sluice/old-http/spi';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import type { Skipped } from './rate-limit.decorator.ts';
import { unknownName } from './unknown-name.ts';

type NestLayer = Layer<NestRequest, NestResponse>;

/** The limits that are declared around a place, and those of them that apply there. */
export interface Surroundings {
  /** Includes those that a class skips: naming them is not a mistake. */
  readonly all: readonly NestLayer[];
  readonly layers: readonly NestLayer[];
}

/**
 * The limits of a place that its `@SkipRateLimit()` does not skip.
 *
 * @throws PolicyError for a name that no limit has there, and for one of several policies under one key.
 */
export function leaveOut(
  { all, layers }: Surroundings,
  skipped: Skipped | undefined,
  place: string,
): readonly NestLayer[] {
  if (skipped === undefined) return layers;
  if (skipped.length === 0) return [];
  for (const name of skipped) {
    if (all.some((layer) => namesOf(layer).includes(name))) continue;
    const what = `@SkipRateLimit(${JSON.stringify(name)}) on ${place} names no limit that applies there`;
    throw unknownName('@SkipRateLimit', what, all.flatMap(namesOf));
  }
  return layers.flatMap((layer) => without(layer, skipped, place));
}

function without(layer: NestLayer, skipped: Skipped, place: string): readonly NestLayer[] {
  const isSkipped = (name: string): boolean => skipped.includes(name);
  if (isSkipped(layer.name)) return [];
  const { policyNames } = layer; // with `limits`, those of the entries
  const left = policyNames.filter((name) => !isSkipped(name));
  if (left.length === policyNames.length) return [layer];
  if (left.length === 0) return [];
  if (layer.options.limits !== undefined) return [layer.variant({ without: skipped })];
  throw new PolicyError(
    '@SkipRateLimit',
    `@SkipRateLimit() on ${place} skips some of the policies ${policyNames.join(', ')} of ${layer.name}, which are counted together under one key; write them as entries of limits to skip one of them`,
    'SLUICE_OPTION_INVALID',
  );
}

function namesOf(layer: NestLayer): readonly string[] {
  return [layer.name, ...layer.policyNames];
}
