/**
 * What all copies of this package in a process share: ES module, CommonJS, different versions. A collection, or without
 * properties of its own: test runners empty other objects on the global one.
 */
export function ofProcess<Shared extends WeakKey>(name: string, make: () => Shared): Shared {
  return ((globalThis as Record<symbol, unknown>)[Symbol.for(name)] ??= make()) as Shared;
}
