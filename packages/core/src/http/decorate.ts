import { PolicyError, shown } from '../errors.ts';
import { asError, type AnyFramework } from './framework.ts';
import { namedByPlace } from './inherit.ts';
import { limitRequests } from './request-limiter.ts';

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

/** The arguments of a handler method, as its framework calls it. */
interface MethodCall {
  readonly request: object;
  readonly response: unknown;
  /** Receives errors, in frameworks that ignore the promise of a handler. */
  readonly fail?: ((error: unknown) => void) | undefined;
  /** What the method returns if the request is denied. */
  readonly denied?: unknown;
  /** Whether the client of an allowed request is still connected. */
  readonly goesOn?: () => boolean;
}

/**
 * Makes the decorator `@RateLimit(options)` for handler methods of a class. The limiter is named `<Class>.<method>`,
 * unless the options have a name.
 *
 * @param readCall - Reads the arguments of the method.
 * @throws PolicyError for bad or unknown options and for a name that is taken: with a standard decorator, when the class
 * is first instantiated; else when it is defined.
 */
export function limitMethods(
  options: object,
  framework: AnyFramework,
  readCall: (args: readonly unknown[]) => MethodCall,
): MethodDecorator {
  const limit = (method: Method, owner: string, name: string | symbol): Method => {
    const text = typeof name === 'symbol' ? (name.description ?? 'symbol') : name;
    const requests = limitRequests(namedByPlace(options, `${owner || 'Handlers'}.${text}`), framework);
    return async function (this: unknown, ...args: never[]): Promise<unknown> {
      const { request, response, fail, denied, goesOn } = readCall(args);
      try {
        const passes = (await requests.limit(request, response)) && goesOn?.() !== false;
        return passes ? await method.apply(this, args) : denied;
      } catch (error) {
        if (fail === undefined) throw (error ?? asError(error)) as Error; // a framework takes undefined for no error
        fail(asError(error));
        return undefined;
      }
    };
  };
  const decorate = (first: unknown, second: unknown, descriptor?: PropertyDescriptor): unknown => {
    if (typeof first === 'function' && (second as { kind?: unknown } | undefined)?.kind === 'method') {
      return limitLater(first as Method, second as ClassMethodDecoratorContext, limit);
    }
    if (typeof descriptor?.value === 'function') {
      const { name } = typeof first === 'function' ? first : (first as object).constructor;
      return { ...descriptor, value: limit(descriptor.value as Method, name, second as string | symbol) };
    }
    const what = `@RateLimit() goes on a method of a class, got ${shown(first)}`;
    throw new PolicyError('@RateLimit', what, 'SLUICE_OPTION_INVALID');
  };
  return decorate as MethodDecorator;
}

/**
 * A class has no name yet while a standard decorator decorates its methods. It has one by the time of its first
 * instance or, for a static method, once it is defined.
 */
function limitLater(
  method: Method,
  context: ClassMethodDecoratorContext,
  limit: (method: Method, owner: string, name: string | symbol) => Method,
): Method {
  let limited: Method | undefined;
  const replacement = function (this: unknown, ...args: never[]): unknown {
    limited ??= limit(method, '', context.name); // called without an instance
    return limited.apply(this, args);
  };
  context.addInitializer(function (this: unknown) {
    const { name } = context;
    const owner = context.static ? (this as { name: string }).name : findOwner(this as object, replacement, name);
    limited ??= limit(method, owner, name);
  });
  return replacement;
}

/** The class that defines the method: a subclass inherits the method. */
function findOwner(instance: object, method: Method, name: string | symbol): string {
  for (let at: object | null = instance; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    if (Object.getOwnPropertyDescriptor(at, name)?.value === method) return at.constructor.name;
  }
  return instance.constructor.name;
}
