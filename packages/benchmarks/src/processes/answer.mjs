/**
 * The side of the child: `open(settings)` returns an object with a function for each request of its {@link Worker}.
 */
export function answer(open) {
  const opened = new Map();
  process.on('message', async ({ id, what, options }) => {
    try {
      if (what === 'open') {
        const subject = await open(options);
        opened.set(id, subject);
        process.send({ id, answer: subject.about ?? {} });
      } else {
        process.send({ id, answer: (await opened.get(id)[what](options)) ?? {} });
      }
    } catch (error) {
      process.send({ id, error: error?.stack ?? String(error) });
    }
  });
  process.on('disconnect', () => process.exit());
}
