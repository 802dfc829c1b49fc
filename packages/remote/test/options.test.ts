import { describe, expect, it } from '@jest/globals';
import { createLimiter, escalate, tokenBucket } from '@sluice/old-core';
import { remoteStore, type RemoteStoreOptions } from '@sluice/remote';

const URL = 'sluice://127.0.0.1:1';

describe('remoteStore', () => {
  it.each([
    'sluice://localhost',
    'sluice://localhost:8082',
    'sluice://one:8082,other:8083,[::1]:8084',
    'SLUICES://limits.example.com:443/',
    'sluice+unix:/run/sluice.sock',
    'sluice+unix:///run/sluice.sock',
    ['sluice://one', 'sluices://other'],
  ])('takes the URL %j', (url) => {
    expect(remoteStore(url)).toMatchObject({ source: 'remote', showsDenied: true });
  });

  it.each([
    ['', '""'],
    ['localhost:8082', '"localhost:8082"'],
    ['http://localhost:8082', '"http://localhost:8082"'],
    ['redis://localhost:6379', '"redis://localhost:6379"'],
    ['sluice://', '"sluice://"'],
    ['sluice://host:99999', '"sluice://host:99999"'],
    ['sluice://host:80a', '"sluice://host:80a"'],
    ['sluice://one,,other', '"sluice://one,,other"'],
    ['sluice://host/path', '"sluice://host/path"'],
    ['sluice://host?token=x', '"sluice://host?token=x"'],
    ['sluice+unix:', '"sluice+unix:"'],
    [[], 'an array of 0'],
    [undefined, 'undefined'],
    [8082, '8082'],
  ])('names what is wrong with the URL %j', (url, got) => {
    expect(() => remoteStore(url as string)).toThrow(
      expect.objectContaining({
        code: 'SLUICE_OPTION_INVALID',
        field: 'url',
        message: expect.stringContaining(`got ${got}`),
      }),
    );
  });

  it('says where a token goes, and shows none', () => {
    expect(() => remoteStore('sluice://secret@host')).toThrow(
      /remoteStore\(url, { token }\), got "sluice:\/\/...@host"/,
    );
  });

  it.each([
    [{ token: '' }, 'token', 'token must be 1 to 1024 printable characters without spaces, got a string of 0'],
    [{ token: 'two words' }, 'token', 'got a string of 9'],
    [{ token: 5 }, 'token', 'got a number'],
    [{ tls: 'PRIVATE' }, 'tls', 'as tls.connect takes it, got a string of 7'],
    [{ breaker: { failures: 0 } }, 'breaker.failures', 'breaker.failures must be a whole number from 1'],
    [{ prefix: 'x' }, 'prefix', 'remoteStore has no option "prefix"'],
  ])('names what is wrong with the options %j', (options, field, message) => {
    expect(() => remoteStore(URL, options as RemoteStoreOptions)).toThrow(
      expect.objectContaining({ field, message: expect.stringContaining(message) }),
    );
  });
});

describe('a limiter over a remoteStore', () => {
  it('escalates', () => {
    const policy = tokenBucket({ capacity: 100, refill: 10, every: '1s' });

    const escalation = escalate({ after: 3, block: '1m', decay: '1h' });
    expect(() => createLimiter({ policy, store: remoteStore(URL), escalate: escalation })).not.toThrow();
  });
});
