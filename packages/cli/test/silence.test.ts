import { describe, expect, it } from '@jest/globals';
import { startMuteProxy } from './mute-proxy.ts';
import { runSluice, useCli, type Ran } from './sluice.ts';

const cli = useCli();

/** Runs the command through a proxy that stops answering. */
async function throughMuteProxy(
  words: string,
  ...args: readonly string[]
): Promise<{ readonly port: string; readonly ran: Ran }> {
  const proxy = await startMuteProxy(cli, words);
  const port = String(proxy.port);
  const url = new URL(cli.url);
  url.port = port;
  try {
    return { port, ran: await runSluice([...args, '--redis', url.href]) };
  } finally {
    proxy.close();
  }
}

describe('a Redis that stops answering during a command', () => {
  const put = 'policy put orders fixedWindow --limit 7 --window 1m --app web';
  const MADE = '; the change may have been made anyway';

  it.each([
    ['inspect a', 'scan', ''],
    ['inspect sluice:{a}:api', 'get', ''],
    ['policy list', '{#policies}', ''],
    [put, '"apps":["web"]', MADE],
    ['policy remove orders', '"life"', MADE],
  ])('ends the command: %s, from %s on', async (line, words, expected) => {
    await cli.sluice(...put.replace('7', '6').split(' ')); // the server knows the scripts, and a policy to remove
    const { port, ran } = await throughMuteProxy(words, ...line.split(' '));

    expect(ran).toEqual({
      code: 1,
      out: '',
      err: `sluice: cannot use Redis at 127.0.0.1:${port}: no answer in 3 s${expected}`,
    });
  });

  it('may have made the change', async () => {
    await throughMuteProxy('"apps":["web"]', ...put.replace('7', '8').split(' '));

    expect((await cli.sluice('policy', 'get', 'orders')).out).toContain('fixedWindow 8 per 1m');
  });
});
