import { warnOnce } from '../warnings.ts';

/** Fewer may be those of tests. */
const MANY = 10;

let dropped = 0;
const registry = new FinalizationRegistry<string>((name) => {
  dropped++;
  if (dropped !== MANY) return;
  warnOnce(
    'SLUICE_LIMITER_PER_REQUEST',
    `${String(MANY)} limiters with memory of their own, the last one named ${name}, were made, dropped and never closed: what they ` +
      'counted is lost. A limiter that is made for every request denies none. Make it once, outside the handler, and keep it.',
  );
});

/**
 * Detects limiters that are made for every request, and so never count past one: the garbage collector finds them. One
 * that is kept, for a tenant say, is no mistake, whenever it is made.
 */
export function watchForDrop(limiter: WeakKey, name: string): void {
  registry.register(limiter, name, limiter);
}

/** A limiter that was closed was not dropped. */
export function unwatch(limiter: WeakKey): void {
  registry.unregister(limiter);
}
