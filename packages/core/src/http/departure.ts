import type { RawRequest, RawResponse } from './framework.ts';

/** By socket, who wants to hear that it has closed: one listener each, however many requests are pipelined on it. */
const waiting = new WeakMap<object, Set<() => void>>();

/** Whether the client of a request that has not been answered is gone. */
export function hasLeft({ socket }: RawRequest, { destroyed, stream }: RawResponse): boolean {
  return destroyed === true || stream?.destroyed === true || socket?.destroyed === true;
}

/**
 * Calls back when a response closes: before anybody has answered the client has left, or else it was handed over whole or
 * cut off. Not for one that {@link hasLeft} already.
 *
 * @returns What ends it. To be called in any case.
 */
export function onDeparture({ socket, stream }: RawRequest, response: RawResponse, left: () => void): () => void {
  response.once('close', left);
  // Of HTTP/1, a response that is behind others on its connection has no socket yet, and hears of no end. Of HTTP/2 the
  // socket is not its own.
  const others = stream === undefined ? othersOn(socket) : undefined;
  others?.add(left);
  return () => {
    response.off('close', left);
    others?.delete(left);
  };
}

function othersOn(socket: RawRequest['socket']): Set<() => void> | undefined {
  if (socket?.once === undefined) return undefined;
  let listeners = waiting.get(socket);
  if (listeners === undefined) {
    const made = new Set<() => void>();
    socket.once('close', () => {
      for (const left of made) left();
    });
    waiting.set(socket, (listeners = made));
  }
  return listeners;
}
