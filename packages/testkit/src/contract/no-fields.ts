import { expect } from '@jest/globals';
import { fieldsOf, NO_FIELDS } from './limiter-fields.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';
import { failingStore } from './watched-store.ts';

/** Responses without fields of the limiter: no decision, or an unknown one (V14, V15). */
export function noFields(suite: Suite): void {
  describe.each(PLACES)('the fields of a limit %s', (place) => {
    it('are missing when a request is skipped, and the application’s own fields stay (V14)', async () => {
      const server = await suite.serve(
        { name: 'default', limit: 1, window: '60s', skip: () => true },
        { place, handle: () => ({ headers: { 'X-Own': 'kept' }, body: 'hello' }) },
      );

      const answers = [await server.send(), await server.send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.map(fieldsOf)).toEqual([NO_FIELDS, NO_FIELDS]);
      expect(answers[1]?.headers['x-own']).toBe('kept');
    });

    it('are missing when a client is on the allow list (V14)', async () => {
      const server = await suite.serve({ name: 'default', limit: 1, window: '60s', allow: ['127.0.0.0/8'] }, { place });

      const answers = [await server.send(), await server.send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.map(fieldsOf)).toEqual([NO_FIELDS, NO_FIELDS]);
    });
  });

  describe.each(PLACES)('when the store fails, a limit %s', (place) => {
    it('with onStoreError: "allow" passes without fields (V14)', async () => {
      const server = await suite.serve(
        { name: 'default', limit: 1, window: '60s', store: failingStore('rejects'), onStoreError: 'allow' },
        { place },
      );

      const answers = [await server.send(), await server.send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.map(fieldsOf)).toEqual([NO_FIELDS, NO_FIELDS]);
    });

    it('with onStoreError: "deny" answers 503 with problem details, without fields (V15)', async () => {
      const server = await suite.serve(
        { name: 'default', limit: 1, window: '60s', store: failingStore('rejects'), onStoreError: 'deny' },
        { place },
      );

      const answer = await server.send();

      expect(answer.status).toBe(503);
      expect(fieldsOf(answer)).toEqual(NO_FIELDS);
      expect(answer.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
      });
      expect(answer.body).toBe('{"type":"about:blank","title":"Service Unavailable","status":503}');
      expect(server.calls.count).toBe(0);
    });
  });
}
