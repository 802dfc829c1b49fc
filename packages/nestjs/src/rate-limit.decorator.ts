import { createParamDecorator, SetMetadata, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { PolicyError, type RateLimitInfo } from '@sluice/core';
import { checkPlace } from '@sluice/core/http';
import { httpFramework } from './framework.ts';
import { infoOf } from './nest-request.ts';
import type { NestResponse } from './nest-response.ts';
import { DECORATOR_OPTIONS, type RateLimitDecoratorOptions } from './rate-limit.options.ts';

/** What one `@RateLimit()` says. */
export interface Placed {
  readonly options: RateLimitDecoratorOptions;
  /** `Orders` or `Orders.list`: the name of the limiter, unless the options say another. */
  readonly place: string;
  /** The class or method that it stands on. */
  readonly target: Target;
}

/** Names of limits; none at all means every limit. */
export type Skipped = readonly string[];

type ClassOrMethod = ClassDecorator & MethodDecorator;
/** A class, or the method that handles a request: what Nest keeps metadata on. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-function-type -- as Nest has it
type Target = Function;

const LIMITS = 'sluice:rate-limit';
const SKIPPED = 'sluice:skip-rate-limit';
const reflector = new Reflector();

/**
 * Limits a handler, or all handlers of a class together. Several may stand on one place; they hold together with those of
 * the class and of the module, as one decision. Without a name, the limiter is called `<Class>` or `<Class>.<method>`, a
 * second one there `<Class>.<method>-2`.
 *
 * @throws PolicyError for bad or unknown options, when the class is defined.
 */
export function RateLimit(options: RateLimitDecoratorOptions): ClassOrMethod;
export function RateLimit<Request, Response = NestResponse>(
  options: RateLimitDecoratorOptions<Request, Response>,
): ClassOrMethod;
export function RateLimit(options: object): ClassOrMethod {
  checkPlace(options, httpFramework, DECORATOR_OPTIONS);
  return (on: object, key?: string | symbol, descriptor?: PropertyDescriptor): void => {
    const { target, place } = placeOf('@RateLimit()', on, key, descriptor);
    // Decorators are applied from the bottom up; those of a base class stand outside.
    const before = limitsOf(target);
    const inherited = before.filter((placed) => placed.target !== target);
    const own = before.filter((placed) => placed.target === target);
    SetMetadata(LIMITS, [...inherited, { options, place, target }, ...own])(on, key as string, descriptor as never);
  };
}

/**
 * Leaves limits out: those of these names or, without names, all. On a class it concerns the limits of the module and of
 * the class, on a method all that reach it. A name is that of a limiter, of an entry of `limits`, or of a policy that
 * stands alone; one that no limit has fails the start.
 */
export function SkipRateLimit(...names: readonly string[]): ClassOrMethod {
  for (const name of names as readonly unknown[]) {
    if (typeof name === 'string') continue;
    throw new PolicyError(
      '@SkipRateLimit',
      `@SkipRateLimit() takes names of limits, or nothing, got ${JSON.stringify(name)}`,
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
 * A parameter of a handler: the key and the decision about its request, `undefined` when nothing limited it. For HTTP;
 * elsewhere they stand on what the guard's `requestOf` answers.
 *
 * @example
 * ```ts
 * list(@CurrentRateLimit() limit: RateLimitInfo | undefined) {}
 * ```
 */
export const CurrentRateLimit: () => ParameterDecorator = createParamDecorator(
  (_data: unknown, context: ExecutionContext): RateLimitInfo | undefined =>
    context.getType() === 'http' ? infoOf(context.switchToHttp().getRequest<object>()) : undefined,
);

/** The limits of a class, its base classes included, or of a method; the outermost first. */
export function limitsOf(target: Target): readonly Placed[] {
  return reflector.get<readonly Placed[] | undefined>(LIMITS, target) ?? [];
}

/** The limits that a class or a method leaves out; undefined when it says nothing. */
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
    throw misplaced(decorator, 'Nest knows decorators of experimentalDecorators alone; set it in tsconfig.json');
  }
  if (typeof on === 'function' && key === undefined) return { target: on, place: named(on.name) };
  const target: unknown = descriptor?.value;
  if (typeof target !== 'function') throw misplaced(decorator, 'it goes on a class or on a method of one');
  const owner = typeof on === 'function' ? on : (on as object).constructor;
  return { target, place: named(`${owner.name}.${String(key)}`) };
}

/** A place as a limiter's name, with room for the number of a second one. */
function named(place: string): string {
  const plain = place.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z]+/, '');
  return plain === '' ? 'handler' : plain.slice(0, 60);
}

function misplaced(decorator: string, why: string): PolicyError {
  return new PolicyError(decorator, `${decorator} cannot stand here: ${why}`, 'SLUICE_OPTION_INVALID');
}
