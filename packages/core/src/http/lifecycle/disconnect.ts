import type { RawRequest, RawResponse } from '../framework.ts';

/** Callbacks by socket: one listener per socket serves all requests pipelined on it. */
const closeListeners = new WeakMap<object, Set<() => void>>();

/** Whether the client of an unanswered request is gone. */
export function isGone({ socket }: RawRequest, response: RawResponse | undefined): boolean {
  const stream = response?.stream;
  return (
    response?.destroyed === true ||
    socket?.destroyed === true ||
    (stream !== undefined &&
      (stream.destroyed === true || stream.closed === true || stream.session?.destroyed === true))
  );
}

/**
 * Whether a response has ended: it was sent completely, or its client is gone. Node 20 closes some streams of HTTP/2
 * without an event, so whatever must not outlive the response checks this from time to time.
 */
export function hasEnded(request: RawRequest, response: RawResponse): boolean {
  return isGone(request, response) || (response.stream ?? response).writableFinished === true;
}

/**
 * Calls back when a response closes: it was sent completely, it was cut off, or the client left before it. Does not
 * call back if it {@link isGone} already.
 *
 * @returns Removes the listeners. Call it in any case.
 */
export function onClose(
  { socket, stream }: RawRequest,
  response: RawResponse | undefined,
  onClosed: () => void,
): () => void {
  response?.once('close', onClosed);
  // With HTTP/1 pipelining, a response behind others has no socket yet and emits no close. With HTTP/2 the socket is
  // shared by all streams.
  const shared = stream === undefined ? getSharedListeners(socket) : undefined;
  shared?.add(onClosed);
  return () => {
    response?.off('close', onClosed);
    shared?.delete(onClosed);
  };
}

function getSharedListeners(socket: RawRequest['socket']): Set<() => void> | undefined {
  if (socket?.once === undefined) return undefined;
  let listeners = closeListeners.get(socket);
  if (listeners === undefined) {
    const made = new Set<() => void>();
    socket.once('close', () => {
      for (const onClosed of made) onClosed();
    });
    closeListeners.set(socket, (listeners = made));
  }
  return listeners;
}
