import type * as AsyncHooks from 'node:async_hooks';
import type { Cluster } from 'node:cluster';
import type * as DiagnosticsChannel from 'node:diagnostics_channel';
import type * as Module from 'node:module';

/** The parts of a timer that some runtimes lack: in browsers, timers are numbers. */
export interface Timer {
  ref?(): void;
  unref?(): void;
}

/** Longer timers overflow to 1 ms. */
export const MAX_TIMER_MS: number = 2 ** 31 - 1;

/** The parts of Node.js's `process` that this runtime has. */
export const runtime: Partial<NodeJS.Process> = (globalThis as { process?: NodeJS.Process }).process ?? {};

/** The modules of Node.js that are used if the runtime has them. Importing them would break bundles for browsers. */
interface Builtins {
  'node:async_hooks': typeof AsyncHooks;
  'node:cluster': Cluster;
  'node:diagnostics_channel': typeof DiagnosticsChannel;
  'node:module': typeof Module;
}

/** A module of Node.js; undefined if this runtime does not have it. */
export function findBuiltin<Name extends keyof Builtins>(name: Name): Builtins[Name] | undefined {
  return runtime.getBuiltinModule?.(name) as Builtins[Name] | undefined;
}

/** Where this module is unless it is part of a bundle. */
const UNBUNDLED = /\/core\/dist\/[\w-]+\.c?js$/;

/** Whether a package certainly cannot be imported. False if that is unknown: a bundle may contain it. */
export function isMissing(name: string): boolean {
  const url: unknown = import.meta.url;
  const nodeModule = findBuiltin('node:module');
  if (typeof url !== 'string' || !UNBUNDLED.test(url) || nodeModule === undefined) return false;
  try {
    nodeModule.createRequire(url).resolve(name);
    return false;
  } catch {
    return true;
  }
}

type Detached = <Result>(run: () => Result) => Result;

/**
 * Runs a function outside of the async context of the request that happens to call it. A timer, connection or kept
 * promise made inside that context would keep what the application stores there (`AsyncLocalStorage`) alive, and its
 * callbacks would run as part of that request.
 */
export const detached: Detached =
  /* @__PURE__ */ findBuiltin('node:async_hooks')?.AsyncLocalStorage.snapshot() ?? ((run) => run());

/** Calls back after this time. The timer keeps no process alive and no async context. */
export function startTimer(ms: number, call: () => void): Timer {
  const timer = detached(() => setTimeout(call, Math.min(ms, MAX_TIMER_MS)) as Timer);
  timer.unref?.();
  return timer;
}

/** The result of a call, or a rejection if it takes longer than this. The timer does not keep the process alive. */
export function within<Result>(ms: number, call: Promise<Result>, late: () => Error): Promise<Result> {
  return new Promise((resolve, reject) => {
    const timer = startTimer(ms, () => {
      reject(late());
    });
    call.then(resolve, reject).finally(() => {
      stopTimer(timer);
    });
  });
}

export function stopTimer(timer: Timer | undefined): void {
  clearTimeout(timer as NodeJS.Timeout | undefined);
}

/** Whether this process is a worker of `node:cluster`: one of several processes with a memory each. */
export function isClusterWorker(): boolean {
  // A process without a parent to talk to is not a worker. (Importing node:cluster loads twenty other modules.)
  if (runtime.send === undefined) return false;
  return findBuiltin('node:cluster')?.isWorker === true;
}

/** Whole milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/**
 * The clock of the memory store: it starts at the system's time and never goes back, so that a step of the system's
 * clock (NTP, an administrator) neither opens nor closes a window.
 */
export function makeLocalClock(): Clock {
  let dateMs = Number.NaN;
  let nowMs = 0;
  return {
    now() {
      // `Date.now` takes a quarter of the time of `performance.now` on Node 20, so it tells whether the other needs to
      // be read.
      const date = Date.now();
      if (date === dateMs) return nowMs;
      dateMs = date;
      return (nowMs = Math.floor(performance.timeOrigin + performance.now()));
    },
  };
}

/** Error codes of failed connections, after which nothing was sent. */
export const NOT_SENT: readonly unknown[] = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
