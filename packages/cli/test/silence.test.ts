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

  it.each([
    ['inspect a', 'scan', ''],
    ['policy list', '{#policies}', ''],
    [put, '"apps":["web"]', '; the change may have been made anyway'],
  ])('ends the command: %s, from %s on', async (line, words, expected) => {
    await cli.sluice(...put.replace('7', '6').split(' ')); // the server knows the scripts
    const { port, ran } = await throughMuteProxy(words, ...line.split(' '));

    expect(ran).toEqual({
      code: 1,
      out: '',
      err: `sluice: cannot use Redis at 127.0.0.1:${port}: no answer in 3 s${expected}`,
    });
    const made = line === put ? 'fixedWindow 7 per 1m' : 'fixedWindow 6 per 1m';
    expect((await cli.sluice('policy', 'get', 'orders')).out).toContain(made);
  });
});
