import { ExampleProcess } from '@sluice/example-contract';
import { until } from '@sluice/testkit';
import { describe, expect, it } from '@jest/globals';

const TOKEN = 'the-token-of-the-test';

/** An answer of the page. */
async function ask<Answer>(port: number, name: string, body?: object): Promise<Answer> {
  const response = await fetch(`http://127.0.0.1:${String(port)}/limits/${name}`, {
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', 'x-sluice-page': '1' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${name}: ${String(response.status)} ${await response.text()}`);
  return (await response.json()) as Answer;
}

interface State {
  readonly id: string;
  readonly outcome: string;
  readonly policies: readonly { readonly limit: number }[];
}

describe('an incident', () => {
  it('is found on the page, and an override holds: the noisy customer is denied no more', async () => {
    const example = new ExampleProcess(new URL('../dist/main.js', import.meta.url), { TOKEN });
    const port = await example.listens();

    const noisy = await until('a customer is denied', async () => {
      const { denied } = await ask<{ denied: { keys: readonly { key: string; id: string }[] } }>(port, 'snapshot');
      return denied.keys[0];
    });
    const [before] = await ask<readonly State[]>(port, 'key', { id: noisy.id });
    const change = { id: noisy.id, options: { limit: '100000' }, duration: '1d', reason: 'a launch', by: 'ops' };
    const compared = await ask<{ before: string; after: string }>(port, 'override', change);
    await ask(port, 'override', { ...change, before: compared.before, confirm: true });
    const [after] = await ask<readonly State[]>(port, 'key', { id: noisy.id });
    const printed = example.stdout.length;
    await until('its requests are allowed', () =>
      /^acme [1-9]\d* allowed, 0 denied/m.test(example.stdout.slice(printed).replace(/^.*\n/, '')),
    );
    example.stop();

    expect([noisy.key, before?.policies[0]?.limit]).toEqual(['acme', 20]);
    expect(compared).toMatchObject({
      before: 'slidingWindow 20 per 10s',
      after: 'slidingWindow 100000 per 10s',
    });
    expect(after).toMatchObject({ outcome: 'allowed', policies: [{ limit: 100_000 }] });
    expect(await example.ends()).toBe(0);
    expect(example.stdout).not.toMatch(/(?:globex|initech) \d+ allowed, [1-9]/);
    expect(example.stderr).toBe('');
  });
});
