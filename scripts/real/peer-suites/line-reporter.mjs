// Of node:test: a line of JSON for each test that has no tests below it.
export default async function* lines(source) {
  for await (const { type, data } of source) {
    if (type !== 'test:pass' && type !== 'test:fail') continue;
    if (data.details?.type === 'suite' || data.skip !== undefined || data.todo !== undefined) continue;
    yield `${JSON.stringify({ file: data.file, name: data.name, passed: type === 'test:pass' })}\n`;
  }
}
