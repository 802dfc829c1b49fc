import { UNIT_OF_NUMBER } from '../../config/units.ts';
import { OK, type CurrentLimit, type DescriptorStatus, type LimitCode, type RateLimitResponse } from '../messages.ts';

/** Writes a `RateLimitResponse` as protobuf's JSON, which leaves out what has no value. */
export function jsonOfResponse(response: RateLimitResponse): string {
  const { overallCode, statuses, responseHeadersToAdd, dynamicMetadata } = response;
  return JSON.stringify({
    overallCode: codeOf(overallCode),
    ...(statuses.length === 0 ? {} : { statuses: statuses.map(statusOf) }),
    ...(responseHeadersToAdd.length === 0
      ? {}
      : {
          responseHeadersToAdd: responseHeadersToAdd.map(({ key, value }) => ({
            ...text({ key }),
            ...text({ value }),
          })),
        }),
    ...(dynamicMetadata === undefined ? {} : { dynamicMetadata }),
  });
}

function codeOf(code: LimitCode): string {
  return code === OK ? 'OK' : 'OVER_LIMIT';
}

function statusOf({ code, currentLimit, limitRemaining, secondsUntilReset }: DescriptorStatus): unknown {
  return {
    code: codeOf(code),
    ...(currentLimit === undefined ? {} : { currentLimit: limitOf(currentLimit) }),
    ...(limitRemaining === 0 ? {} : { limitRemaining }),
    ...(secondsUntilReset === undefined ? {} : { durationUntilReset: `${String(secondsUntilReset)}s` }),
  };
}

function limitOf({ requestsPerUnit, unit, name = '' }: CurrentLimit): unknown {
  return {
    ...text({ name }),
    ...(requestsPerUnit === 0 ? {} : { requestsPerUnit }),
    unit: UNIT_OF_NUMBER[unit]?.toUpperCase(),
  };
}

/** A member, unless its text is empty. */
function text(member: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.values(member)[0] === '' ? {} : member;
}
