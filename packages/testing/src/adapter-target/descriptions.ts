import type { RateLimitOptions } from '@sluice/http/spi';

/** A value of a description: JSON, in which `{ "$": name, ...parameters }` stands for what the table of names makes. */
export type Described =
  string | number | boolean | null | undefined | readonly Described[] | { readonly [name: string]: Described };

type NamesOf<T> = T extends unknown ? keyof T : never;

/** The options of a limit, without functions or objects: names stand for those. */
export type LimitDescription = { readonly [Name in NamesOf<RateLimitOptions<never, never>>]?: Described };

/** How a handler responds. */
export interface AnswerDescription {
  /** Default 200. Of a number, or of a header that holds one. */
  readonly status?: number | { readonly header: string; readonly default: number };
  readonly headers?: Readonly<Record<string, string>>;
  /** Default empty. */
  readonly body?: string;
  /** How often the body is repeated. Default once. */
  readonly times?: number;
  /** Waits for this gate before it responds. `{x-id}` in the name is the value of that header. */
  readonly hold?: string;
  /** Adds an entry to this list when it begins. `{x-id}` likewise. */
  readonly record?: string;
  /** Throws an error with this message. */
  readonly throws?: string;
  /** Never responds. */
  readonly never?: boolean;
  /** Instead of `body`: sends `first` at once, and `last` when the gate opens; without a gate it never ends. */
  readonly stream?: { readonly first: string; readonly gate?: string; readonly last?: string };
}

/** An answer that depends on a header: the first case that fits changes the usual answer. */
export interface HandlerDescription extends AnswerDescription {
  /** Its calls are not recorded. */
  readonly quiet?: boolean;
  readonly cases?: readonly (AnswerDescription & { readonly header: string; readonly is: string })[];
}

export interface RouteDescription {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Such as `/login` or `/users/:id`. */
  readonly path: string;
  readonly limit?: LimitDescription;
  readonly handle: HandlerDescription;
}

/** The application that a scenario needs, in JSON. `SuiteApp` says what each field asks for. */
export interface AppDescription {
  readonly limits?: readonly LimitDescription[];
  readonly routes: readonly RouteDescription[];
  readonly before?: Readonly<Record<string, string>>;
  readonly trustLoopback?: boolean;
  readonly users?: boolean;
  readonly methodOverride?: 'before' | 'after';
}

/** What a limiter is called for beside its application. */
export type LimiterCall = 'consume' | 'peek' | 'reset' | 'unblock' | 'close';

/** The requests to a target. Docs: docs/contribute/adding-a-framework.md. */
export type ControlMessage =
  | { readonly do: 'start'; readonly app: string; readonly http2?: boolean; readonly described: AppDescription }
  | { readonly do: 'stop'; readonly app: string }
  | { readonly do: 'clock'; readonly clock: string; readonly atMs: number }
  | { readonly do: 'limiter'; readonly limiter: string; readonly options: LimitDescription }
  | {
      readonly do: 'call';
      readonly limiter: string;
      readonly method: LimiterCall;
      readonly args: readonly Described[];
    }
  | { readonly do: 'acquire'; readonly limiter: string; readonly key: string; readonly slot: string }
  | { readonly do: 'release'; readonly slot: string }
  | {
      readonly do: 'put';
      readonly source: string;
      readonly name: string;
      readonly policy: Described;
      readonly apps: readonly string[];
    }
  | { readonly do: 'remove'; readonly source: string; readonly name: string }
  | { readonly do: 'open'; readonly gates: readonly string[] }
  | { readonly do: 'records'; readonly of: string; readonly list: string }
  | { readonly do: 'count'; readonly of: string; readonly list: string }
  | { readonly do: 'reach'; readonly of: string; readonly list: string; readonly count: number }
  /** Its clock: milliseconds, and since when it counts them, in milliseconds since 1970. */
  | { readonly do: 'now' }
  | { readonly do: 'timers' }
  | { readonly do: 'silence'; readonly codes: readonly string[] }
  | { readonly do: 'end' };

/** The response to a control request. */
export type ControlAnswer =
  | { readonly value?: unknown }
  | {
      readonly error: {
        readonly name: string;
        readonly message: string;
        readonly code?: string | undefined;
        readonly field?: string | undefined;
      };
    };
