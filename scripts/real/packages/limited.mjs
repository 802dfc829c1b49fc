// Three requests against a limit of two: what each program of a framework ends with.
import assert from 'node:assert/strict';

/** The port on which an application of Express or Koa listens from now on. */
export function listening(app) {
  return new Promise((resolve) => {
    const server = app.listen(0, '127.0.0.1', () => resolve(server.address().port));
  });
}

export async function threeRequests(port) {
  const answers = [];
  for (let i = 0; i < 3; i++) answers.push(await fetch(`http://127.0.0.1:${port}/`));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 429],
  );
  assert.match(answers[1].headers.get('ratelimit'), /r=0/);
  assert.equal(answers[2].headers.get('content-type'), 'application/problem+json');
}

/** The metrics of an adapter's entry point count the limiters of the adapter. */
export async function metricsCount(register) {
  const text = await register.metrics();
  assert.match(text, /sluice_decisions_total\{[^}]*outcome="denied"[^}]*\} 1/);
}
