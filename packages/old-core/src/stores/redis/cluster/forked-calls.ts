import type { StoreCall } from '../../../engine/store.ts';

/** Makes calls that are abandoned together with one: a node counts each by itself. */
export function forkOf(call: StoreCall | undefined): () => StoreCall | undefined {
  if (call === undefined) return () => undefined;
  const made: StoreCall[] = [];
  call.onAbandoned = () => {
    for (const one of made) {
      one.abandoned = true;
      one.onAbandoned?.();
    }
  };
  return () => {
    const { abandoned, endMs } = call;
    const one: StoreCall = endMs === undefined ? { abandoned } : { abandoned, endMs };
    made.push(one);
    return one;
  };
}
