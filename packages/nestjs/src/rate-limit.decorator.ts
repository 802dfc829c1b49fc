import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { PolicyError } from '@sluice/core';
import type { RateLimitInfo } from '@sluice/core/http';
import type { NestRequest, NestResponse } from './nest-types.ts';
import type { RateLimitOptions } from './rate-limit.options.ts';

/** One use of `@RateLimit()`. */
export interface Placed {
  readonly options: RateLimitOptions;
  /** `Orders` or `Orders.list`: the default name of the limiter. */
  readonly place: string;
}

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
 * `<Class>.<method>`, and `<Class>.<method>-2` for a second one. Bad options fail the start of the application.
 */
export function RateLimit(options: RateLimitOptions): ClassOrMethod;
export function RateLimit<Request, Response = NestResponse>(
  options: RateLimitOptions<Request, Response>,
): ClassOrMethod;
export function RateLimit(options: object): ClassOrMethod {
  return decorate('@RateLimit()', LIMITS, (target, place) => {
    // Decorators are applied from the bottom up; those of a base class are outside.
    const before = readLimits(target);
    const own = before.filter((placed) => placed.place === place);
    const inherited = before.slice(0, before.length - own.length);
    return [...inherited, { options: options as RateLimitOptions, place }, ...own] satisfies Placed[];
  });
}

/**
 * Skips the limits of these names or, without names, all limits. On a class it skips limits of the module and the
 * class, on a method all limits that apply there. A name is that of a limiter, of an entry of `limits`, or of a
 * single policy. An unknown name fails the start of the application.
 */
export function SkipRateLimit(...names: readonly string[]): ClassOrMethod {
  return decorate('@SkipRateLimit()', SKIPPED, (target) => {
    const before = readSkipped(target);
    return names.length === 0 || before?.length === 0 ? [] : [...(before ?? []), ...names];
  });
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
export function readLimits(target: Target): readonly Placed[] {
  return reflector.get<readonly Placed[] | undefined>(LIMITS, target) ?? [];
}

/** The names of the limits that a class or a method skips, none for all; undefined without `@SkipRateLimit()`. */
export function readSkipped(target: Target): readonly string[] | undefined {
  return reflector.get<readonly string[] | undefined>(SKIPPED, target);
}

/** @param valueFor - Computes the metadata of a class or method from the existing metadata. */
function decorate(
  decorator: string,
  key: string,
  valueFor: (target: Target, place: string) => readonly unknown[],
): ClassOrMethod {
  return (on: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const { target, place } = namePlace(decorator, on, name, descriptor);
    SetMetadata(key, valueFor(target, place))(on, name as string, descriptor as never);
  };
}

function namePlace(
  decorator: string,
  on: unknown,
  key: unknown,
  descriptor: PropertyDescriptor | undefined,
): { readonly target: Target; readonly place: string } {
  if (typeof on === 'function' && key === undefined) return { target: on, place: on.name };
  const target: unknown = descriptor?.value;
  if (typeof target !== 'function') {
    throw new PolicyError(
      decorator,
      `${decorator} goes on a class or on a method of a class, compiled with experimentalDecorators, as Nest requires`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const owner = typeof on === 'function' ? on : (on as object).constructor;
  return { target, place: `${owner.name}.${String(key)}` };
}
