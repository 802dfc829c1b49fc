import { describe, expect, it } from '@jest/globals';
import { KeyNames } from '../src/key-names.ts';
import type { KnownLimit } from '../src/limits.ts';
import { keyUnder } from '../src/recorder.ts';

const SECRET = 'the secret of both';
const key = { policy: 'api', subject: 'ann', key: 'ann', length: 3 };

/** A limit as a process knows it, whose limiter reads its limits again with `read`. */
function limitOf(): { readonly known: () => KnownLimit; read(): void } {
  const core = { name: 'api', limits: { known: [{ keySuffix: ':api:2f' }] } };
  return {
    known: () => ({ core, limit: core.limits.known[0], isOneOfSeveral: false }) as unknown as KnownLimit,
    read: () => {
      core.limits.known = [{ keySuffix: ':api:2f' }];
    },
  };
}

describe('the id of a key that another process has shown', () => {
  it('is opened once, and again when the limits were read again', () => {
    const [here, there] = [limitOf(), limitOf()];
    let asked = 0;
    const names = new KeyNames(false, SECRET, () => {
      asked++;
      return [here.known()];
    });
    const id = new KeyNames(false, SECRET, () => []).idOf(keyUnder(there.known(), key));

    const [first, second] = [names.find(id), names.find(id)];
    const askedBefore = asked;
    here.read();
    const third = names.find(id);

    expect(first).toMatchObject({ subject: 'ann', policy: 'api' });
    expect([second === first, askedBefore]).toEqual([true, 1]);
    expect([third?.limit === here.known().limit, asked]).toEqual([true, 2]);
  });

  it('is not known with another secret', () => {
    const id = new KeyNames(false, 'another one', () => []).idOf(keyUnder(limitOf().known(), key));

    expect(new KeyNames(false, SECRET, () => [limitOf().known()]).find(id)).toBeUndefined();
  });
});
