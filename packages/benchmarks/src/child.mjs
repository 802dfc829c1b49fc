// The entry of a process that is measured, or that measures: see `startChild`.
const { open } = await import(`./${process.argv[2]}`);
let methods;

process.on('message', async ({ method, options }) => {
  try {
    if (method === 'open') methods = await open(options);
    process.send({ answer: method === 'open' ? {} : ((await methods[method](options)) ?? {}) });
  } catch (error) {
    process.send({ error: error?.stack ?? String(error) });
  }
});
process.on('disconnect', () => process.exit());
