import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { PolicyError, createLimiter, fixedWindow } from '@sluice/core';
import { runSluice } from './sluice.ts';

const documented = [
  ...readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8').matchAll(
    /^### (SLUICE_\w+)/gm,
  ),
].map((match) => String(match[1]));

describe('sluice explain', () => {
  it('prints when an error is thrown, and what to do', async () => {
    const { code, out, err } = await runSluice(['explain', 'SLUICE_LIMITER_NAME_TAKEN']);

    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^SLUICE_LIMITER_NAME_TAKEN: thrown when something is made\n\nTwo limiters of one name/);
  });

  it.each(['[SLUICE_STORE_TIMEOUT]', 'sluice_store_timeout', 'STORE_TIMEOUT', '(SLUICE_STORE_TIMEOUT):'])(
    'takes %s as it was copied',
    async (given) => {
      expect((await runSluice(['explain', given, '--json'])).out).toMatch(/^\{"code":"SLUICE_STORE_TIMEOUT",/);
    },
  );

  it('suggests a code for one that does not exist', async () => {
    const { code, out, err } = await runSluice(['explain', 'SLUICE_STORE_TIMEOT']);

    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe('sluice: there is no code "SLUICE_STORE_TIMEOT"; did you mean SLUICE_STORE_TIMEOUT?');
  });

  it('knows every code that the reference has, in plain text', async () => {
    const { ERROR_PAGES } = await import('../src/error-pages.generated.ts');

    expect(Object.keys(ERROR_PAGES).sort()).toEqual([...new Set(documented)].sort());
    for (const { text } of Object.values(ERROR_PAGES)) expect(text).toMatch(/^(?!.*\]\().+/s);
  });
});

describe('an error', () => {
  it('names the command that explains it', () => {
    expect(() => fixedWindow({ limit: -1, window: '1m' })).toThrow(
      expect.objectContaining({ help: 'npx @sluice/cli explain SLUICE_POLICY_INVALID' }),
    );
  });

  it('of a call names it too', async () => {
    const limiter = createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) });

    await expect(limiter.consume('')).rejects.toMatchObject({
      name: 'TypeError',
      help: 'npx @sluice/cli explain SLUICE_KEY_INVALID',
    });
    await expect(limiter.consume('k', -1)).rejects.toMatchObject({
      name: 'RangeError',
      help: 'npx @sluice/cli explain SLUICE_COST_INVALID',
    });
    await limiter.close();
  });

  it('shows it when it ends a program', async () => {
    const error = new PolicyError('limit', 'limit must be a number');
    const { inspect } = await import('node:util');

    expect(inspect(error)).toContain("help: 'npx @sluice/cli explain SLUICE_POLICY_INVALID'");
  });
});
