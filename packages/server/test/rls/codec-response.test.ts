import { expect, it } from '@jest/globals';
import { Writer } from 'protobufjs';
import { writeRateLimitResponse } from '../../src/rls/codec-response.ts';
import { OK, OVER_LIMIT, type RateLimitResponse } from '../../src/rls/messages.ts';
import { decodeResponse } from './protocol.ts';

const RESPONSE: RateLimitResponse = {
  overallCode: OVER_LIMIT,
  statuses: [
    {
      code: OVER_LIMIT,
      currentLimit: { requestsPerUnit: 2 ** 32 - 1, unit: 7, name: 'schlüssel' },
      ...{ limitRemaining: 300, secondsUntilReset: 2 ** 33 },
    },
    {
      code: OK,
      currentLimit: { requestsPerUnit: 0, unit: 1, name: undefined },
      ...{ limitRemaining: 0, secondsUntilReset: 0 },
    },
    { code: OK, currentLimit: undefined, limitRemaining: 1, secondsUntilReset: undefined },
  ],
  responseHeadersToAdd: [{ key: 'RateLimit', value: '😀'.repeat(100) }],
  dynamicMetadata: { text: 'a', '': '', number: -1.5, zero: 0, flags: [true, false, []], map: { none: null, in: {} } },
};

it('a response is understood by protobufjs as it was meant', () => {
  const writer = new Writer();
  writeRateLimitResponse(writer, RESPONSE);

  expect(decodeResponse(writer.finish())).toEqual({
    overallCode: 'OVER_LIMIT',
    statuses: [
      {
        code: 'OVER_LIMIT',
        currentLimit: { requestsPerUnit: 2 ** 32 - 1, unit: 'WEEK', name: 'schlüssel' },
        ...{ limitRemaining: 300, durationUntilReset: { seconds: 2 ** 33 } },
      },
      { code: 'OK', currentLimit: { unit: 'SECOND' }, durationUntilReset: {} },
      { code: 'OK', limitRemaining: 1 },
    ],
    responseHeadersToAdd: RESPONSE.responseHeadersToAdd,
    dynamicMetadata: {
      fields: {
        ...{ text: { stringValue: 'a' }, '': { stringValue: '' }, number: { numberValue: -1.5 } },
        zero: { numberValue: 0 },
        flags: { listValue: { values: [{ boolValue: true }, { boolValue: false }, { listValue: {} }] } },
        map: { structValue: { fields: { none: { nullValue: 'NULL_VALUE' }, in: { structValue: {} } } } },
      },
    },
  });
});
