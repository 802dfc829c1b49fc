import { PolicyError } from '@sluice/old-core';
import { shown } from '@sluice/old-core/spi';

type Method = (this: unknown, ...args: never[]) => unknown;

/**
 * Both forms of method decorators: the standard one of TC39, `(method, context)`, and the one of TypeScript's
 * `experimentalDecorators`, `(target, name, descriptor)`.
 */
export interface MethodDecorator {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- as ClassMethodDecoratorContext has it
  <This, Value extends (this: This, ...args: any) => any>(
    method: Value,
    context: ClassMethodDecoratorContext<This, Value>,
  ): Value;
  (target: object, name: string | symbol, descriptor: PropertyDescriptor): PropertyDescriptor;
}

/**
 * Makes a method decorator that replaces the method. `wrap` is called once, before the method first runs, with the
 * method and its place (`Orders.list`).
 *
 * @param check - Called when the class is defined, so that bad options fail there.
 */
export function methodDecorator(
  check: () => unknown,
  wrap: (method: Method, place: string) => Method,
): MethodDecorator {
  check();
  const decorate = (first: unknown, second: unknown, descriptor?: PropertyDescriptor): unknown => {
    if (typeof first === 'function' && isMethodContext(second)) return standardMethod(first as Method, second, wrap);
    if (descriptor !== undefined && typeof descriptor.value === 'function') {
      const owner = typeof first === 'function' ? first : (first as object).constructor;
      return { ...descriptor, value: wrap(descriptor.value as Method, placeOf(owner.name, second as string | symbol)) };
    }
    throw new PolicyError(
      '@RateLimit',
      `@RateLimit() goes on a method of a class, got ${shown(first)}`,
      'SLUICE_OPTION_INVALID',
    );
  };
  return decorate as MethodDecorator;
}

/**
 * A class has no name yet while its methods are decorated. The name is read from the first instance or, for a static
 * method, from the class.
 */
function standardMethod(
  method: Method,
  context: ClassMethodDecoratorContext,
  wrap: (method: Method, place: string) => Method,
): Method {
  let owner = '';
  let wrapped: Method | undefined;
  const replacement = function (this: unknown, ...args: never[]): unknown {
    wrapped ??= wrap(method, placeOf(owner, context.name));
    return wrapped.apply(this, args);
  };
  context.addInitializer(function (this: unknown) {
    owner ||= context.static ? (this as { name: string }).name : ownerOf(this as object, replacement, context.name);
  });
  return replacement;
}

/** The name of the class that defines the method: a subclass inherits it. */
function ownerOf(instance: object, method: Method, name: string | symbol): string {
  for (let at: object | null = instance; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    if (Object.getOwnPropertyDescriptor(at, name)?.value === method) return at.constructor.name;
  }
  return instance.constructor.name;
}

/** The limiter name of a place in the code, such as `Orders.list`. */
function placeOf(owner: string, method: string | symbol): string {
  const text = `${owner === '' ? 'Handlers' : owner}.${typeof method === 'symbol' ? (method.description ?? 'symbol') : method}`;
  const name = text.replace(/[^A-Za-z0-9._-]/g, '-').replace(/^[^A-Za-z]+/, '');
  return name === '' ? 'handler' : name.slice(0, 64);
}

function isMethodContext(value: unknown): value is ClassMethodDecoratorContext {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'method';
}
