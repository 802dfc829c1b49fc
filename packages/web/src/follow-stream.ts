/** Observes a stream as it is read. */
export interface Follower<Part> {
  part?(part: Part): void;
  /** Called when it was read to its end. The last part is delivered once this resolves. */
  ended(): void | Promise<void>;
  /** Called when it failed, or its reader has left. */
  cut(): void | Promise<void>;
}

/** The same stream, observed. Reads no more than requested. */
export function followStream<Part>(stream: ReadableStream<Part>, follower: Follower<Part>): ReadableStream<Part> {
  const reader = stream.getReader();
  return new ReadableStream(
    {
      async pull(controller) {
        try {
          const next = await reader.read();
          if (next.done) {
            await follower.ended();
            controller.close();
          } else {
            follower.part?.(next.value);
            controller.enqueue(next.value);
          }
        } catch (error) {
          controller.error(error);
          await follower.cut();
        }
      },
      async cancel(reason) {
        await follower.cut();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}
