import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { PolicyError } from '@sluice/old-core';
import type { RateLimitInfo } from '@sluice/old-http';
import { atPlace, checkPlace } from '@sluice/old-http/spi';
import { framework } from './framework.ts';
import type { NestRequest } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import type { RateLimitOptions } from './rate-limit.options.ts';

/** One use of `@RateLimit()`. */
export interface Placed {
  readonly options: RateLimitOptions;
  /** `Orders` or `Orders.list`: the default name of the limiter. */
  readonly place: string;
  /** The decorated class or method. */
  readonly target: Target;
}

/** Names of limits; an empty list means all limits. */
export type Skipped = readonly string[];

type ClassOrMethod = ClassDecorator & MethodDecorator;
/** A class or a handler method, on which Nest stores metadata. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as Nest has it
type Target = Function;

const LIMITS = 'sluice:rate-limit';
const SKIPPED = 'sluice:skip-rate-limit';
const reflector = new Reflector();

/**
 * Limits a handler, or all handlers of a class together. Several decorators on one place are decided together with
 * those of the class and the module, as one decision. The default name of the limiter is `<Class>` or
 * `<Class>.<method>`, and `<Class>.<method>-2` for a second one.
 *
 * @throws PolicyError for bad or unknown options, when the class is defined.
 */
export function RateLimit(options: RateLimitOptions): ClassOrMethod;
export function RateLimit<Request, Response = NestResponse>(
  options: RateLimitOptions<Request, Response>,
): ClassOrMethod;
export function RateLimit(options: object): ClassOrMethod {
  atPlace('@RateLimit()', () => {
    checkPlace(options, framework, []);
  });
  return (on: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const { target, place } = placeOf('@RateLimit()', on, key, descriptor);
    // Decorators are applied from the bottom up; those of a base class are outside.
    const before = limitsOf(target);
    const inherited = before.filter((placed) => placed.target !== target);
    const own = before.filter((placed) => placed.target === target);
    SetMetadata(LIMITS, [...inherited, { options, place, target }, ...own])(on, key as string, descriptor as never);
  };
}

/**
 * Skips the limits of these names or, without names, all limits. On a class it skips limits of the module and the
 * class, on a method all limits that apply there. A name is that of a limiter, of an entry of `limits`, or of a
 * single policy. An unknown name fails the start of the application.
 */
export function SkipRateLimit(...names: readonly string[]): ClassOrMethod {
  for (const name of names as readonly unknown[]) {
    if (typeof name === 'string') continue;
    throw new PolicyError(
      '@SkipRateLimit',
      `@SkipRateLimit() takes names of limits, or no argument, got ${JSON.stringify(name)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return (on: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const before = skippedOf(placeOf('@SkipRateLimit()', on, key, descriptor).target);
    const isAll = names.length === 0 || before?.length === 0;
    SetMetadata(SKIPPED, isAll ? [] : [...(before ?? []), ...names])(on, key as string, descriptor as never);
  };
}

/**
 * A parameter of a handler: the key and the decision of its request, `undefined` if no limit applies.
 *
 * @example
 * ```ts
 * list(@CurrentRateLimit() limit: RateLimitInfo | undefined) {}
 * ```
 */
export const CurrentRateLimit: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RateLimitInfo | undefined =>
    context.getType() === 'http' ? context.switchToHttp().getRequest<NestRequest>().rateLimit : undefined,
);

/** The limits of a class with its base classes, or of a method; the outermost first. */
export function limitsOf(target: Target): readonly Placed[] {
  return reflector.get<readonly Placed[] | undefined>(LIMITS, target) ?? [];
}

/** The limits that a class or a method skips; undefined without `@SkipRateLimit()`. */
export function skippedOf(target: Target): Skipped | undefined {
  return reflector.get<Skipped | undefined>(SKIPPED, target);
}

function placeOf(
  decorator: string,
  on: unknown,
  key: unknown,
  descriptor: PropertyDescriptor | undefined,
): { readonly target: Target; readonly place: string } {
  if (typeof key === 'object' && key !== null) {
    throw misplaced(decorator, 'Nest supports only decorators of experimentalDecorators; set it in tsconfig.json');
  }
  if (typeof on === 'function' && key === undefined) return { target: on, place: named(on.name) };
  const target: unknown = descriptor?.value;
  if (typeof target !== 'function') throw misplaced(decorator, 'use it on a class or on a method of a class');
  const owner = typeof on === 'function' ? on : (on as object).constructor;
  return { target, place: named(`${owner.name}.${String(key)}`) };
}

/** The limiter name of a place, with room for the number of a second one. */
function named(place: string): string {
  const name = place.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z]+/, '');
  return name === '' ? 'handler' : name.slice(0, 60);
}

function misplaced(decorator: string, why: string): PolicyError {
  return new PolicyError(decorator, `${decorator} cannot be used here: ${why}`, 'SLUICE_OPTION_INVALID');
}
