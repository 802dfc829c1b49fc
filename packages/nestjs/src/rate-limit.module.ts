import {
  Module,
  type CanActivate,
  type DynamicModule,
  type FactoryProvider,
  type InjectionToken,
  type ModuleMetadata,
  type Provider,
  type Type,
} from '@nestjs/common';
import { APP_GUARD, ApplicationConfig, ModulesContainer } from '@nestjs/core';
import { PolicyError } from '@sluice/core';
import { atPlace, inheritOptions } from '@sluice/core/http';
import type { NestRequest, NestResponse } from './nest-types.ts';
import { RateLimitGuard } from './rate-limit.guard.ts';
import { RATE_LIMIT_OPTIONS, type RateLimitOptionsFactory, type RateLimitScopeOptions } from './rate-limit.options.ts';
import { RateLimits } from './rate-limits.ts';

interface GuardOption {
  /**
   * The guard of the whole application. Use false to place it with `@UseGuards()`, after a guard that authenticates the
   * user. Default `RateLimitGuard`, unless the application registers its own.
   */
  guard?: Type<RateLimitGuard> | false;
}

/** The options of `RateLimitModule.forRoot`. */
export type RateLimitModuleOptions<Request = NestRequest, Response = NestResponse> = RateLimitScopeOptions<
  Request,
  Response
> &
  GuardOption;

/** The options of `RateLimitModule.forRootAsync`: one of `useFactory`, `useClass` and `useExisting`. */
export interface RateLimitModuleAsyncOptions<Request = NestRequest, Response = NestResponse>
  extends Pick<ModuleMetadata, 'imports'>, GuardOption {
  inject?: NonNullable<FactoryProvider['inject']>;
  useFactory?: (
    ...injected: never[]
  ) => RateLimitScopeOptions<Request, Response> | Promise<RateLimitScopeOptions<Request, Response>>;
  useClass?: Type<RateLimitOptionsFactory<Request, Response>>;
  useExisting?: InjectionToken<RateLimitOptionsFactory<Request, Response>>;
}

/** Limits an application. Import it once, in the root module; it is global. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- as modules of Nest are
export class RateLimitModule {
  static {
    Module({})(this);
  }

  /**
   * @example
   * ```ts
   * RateLimitModule.forRoot({ limit: 100, window: '1m', store })
   * ```
   *
   * @throws PolicyError for unknown options. Bad values fail the start of the application.
   */
  static forRoot(options?: RateLimitModuleOptions): DynamicModule;
  static forRoot<Request, Response = NestResponse>(options: RateLimitModuleOptions<Request, Response>): DynamicModule;
  static forRoot(given: GuardOption = {}): DynamicModule {
    const { guard, ...options } = atPlace('RateLimitModule.forRoot()', () => inheritOptions({}, given, ['guard']));
    return makeModule({ provide: RATE_LIMIT_OPTIONS, useValue: options }, [], guard);
  }

  /**
   * Like {@link forRoot}, with options created from injected values. Bad options fail the start of the application.
   *
   * @throws PolicyError without exactly one of `useFactory`, `useClass` and `useExisting`.
   */
  static forRootAsync(options: RateLimitModuleAsyncOptions): DynamicModule;
  static forRootAsync<Request, Response = NestResponse>(
    options: RateLimitModuleAsyncOptions<Request, Response>,
  ): DynamicModule;
  static forRootAsync(options: RateLimitModuleAsyncOptions<never, never>): DynamicModule {
    const { imports = [], inject = [], guard, useFactory, useClass, useExisting } = options;
    if ([useFactory, useClass, useExisting].filter((way) => way !== undefined).length !== 1) {
      throw new PolicyError(
        'forRootAsync',
        'forRootAsync takes one of useFactory, useClass and useExisting',
        'SLUICE_OPTION_INVALID',
      );
    }
    const provider: FactoryProvider =
      useFactory !== undefined
        ? { provide: RATE_LIMIT_OPTIONS, useFactory, inject }
        : {
            provide: RATE_LIMIT_OPTIONS,
            useFactory: (factory: RateLimitOptionsFactory) => factory.createRateLimitOptions(),
            inject: [useClass ?? (useExisting as InjectionToken)],
          };
    const module = makeModule(provider, useClass === undefined ? [] : [useClass], guard);
    return { ...module, imports };
  }
}

function makeModule(options: Provider, more: readonly Provider[], guard: unknown = RateLimitGuard): DynamicModule {
  if (guard !== false && !isGuard(guard)) {
    throw new PolicyError(
      'guard',
      'guard must be RateLimitGuard, a class that extends it, or false',
      'SLUICE_OPTION_INVALID',
    );
  }
  const limits: FactoryProvider = {
    provide: RateLimits,
    useFactory: (scope: RateLimitScopeOptions, modules: ModulesContainer) => new RateLimits(scope, modules),
    inject: [RATE_LIMIT_OPTIONS, ModulesContainer],
  };
  const guards: Provider[] =
    guard === false
      ? []
      : [guard, { provide: APP_GUARD, useFactory: makeAutomaticGuard, inject: [guard, ApplicationConfig] }];
  return {
    module: RateLimitModule,
    global: true,
    providers: [options, ...more, limits, ...guards],
    exports: [RATE_LIMIT_OPTIONS, RateLimits],
  };
}

/** The module's guard. It lets everything pass if the application registers its own. */
function makeAutomaticGuard(guard: RateLimitGuard, application: ApplicationConfig): CanActivate {
  const hasOwn = (): boolean =>
    application.getGlobalGuards().some((one) => one instanceof RateLimitGuard) ||
    application.getGlobalRequestGuards().some(({ metatype }) => isGuard(metatype));
  let isReplaced: boolean | undefined; // looked up at the first request, when all are registered
  return { canActivate: (context) => (isReplaced ??= hasOwn()) || guard.canActivate(context) };
}

function isGuard(value: unknown): value is Type<RateLimitGuard> {
  return typeof value === 'function' && (value === RateLimitGuard || value.prototype instanceof RateLimitGuard);
}
