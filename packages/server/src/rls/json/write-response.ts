import { UNIT_OF_NUMBER } from '../../config/units.ts';
import { OK, type DescriptorStatus, type LimitCode, type RateLimitResponse } from '../messages.ts';

/** Writes a `RateLimitResponse` as protobuf's JSON, which leaves out empty values. */
export function formatResponse(response: RateLimitResponse): string {
  const { overallCode, statuses, responseHeadersToAdd, dynamicMetadata } = response;
  return JSON.stringify({
    overallCode: formatCode(overallCode),
    ...(statuses.length === 0 ? {} : { statuses: statuses.map(makeStatus) }),
    ...(responseHeadersToAdd.length === 0 ? {} : { responseHeadersToAdd: responseHeadersToAdd.map(withoutEmpty) }),
    dynamicMetadata,
  });
}

function formatCode(code: LimitCode): string {
  return code === OK ? 'OK' : 'OVER_LIMIT';
}

function makeStatus({ code, currentLimit, limitRemaining, secondsUntilReset }: DescriptorStatus): unknown {
  return withoutEmpty({
    code: formatCode(code),
    currentLimit:
      currentLimit && withoutEmpty({ ...currentLimit, unit: UNIT_OF_NUMBER[currentLimit.unit]?.toUpperCase() }),
    limitRemaining,
    durationUntilReset: secondsUntilReset === undefined ? undefined : `${String(secondsUntilReset)}s`,
  });
}

function withoutEmpty(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '' && value !== 0));
}
