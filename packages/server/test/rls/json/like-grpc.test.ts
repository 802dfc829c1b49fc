import { afterEach, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/old-core';
import { cases, fakeClock, seeded, testSeed, type FakeClock, type Random } from '@sluice/testkit';
import type { DescriptorFields, RequestFields, ResponseFields, StatusFields } from '../protocol.ts';
import { descriptor } from '../running-service.ts';
import { JsonService } from './json-service.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 5, name: per-user }
    metadata: { tier: [1, true, null, { name: gold }] }
    descriptors:
      - key: path
        rate_limit: { unit: week, requests_per_unit: 3 }
  - key: bucket
    sluice: { tokenBucket: { capacity: 4, refill: 1, every: 10s } }
  - key: watched
    shadow_mode: true
    rate_limit: { unit: hour, requests_per_unit: 2 }
  - key: pool
    quota_mode: true
    rate_limit: { unit: second, requests_per_unit: 2 }
  - key: closed
    rate_limit: { unit: minute, requests_per_unit: 0 }
  - key: free
    rate_limit: { unlimited: true, replaces: [{ name: per-user }] }
`;
const SUBJECTS = ['user=ann', 'user=bob', 'user=ann path=/', 'bucket=x', 'watched=x', 'pool=a', 'pool=b'] as const;
const RARE = ['closed=x', 'free=x', 'nothing=x'] as const;

describe('the same requests over gRPC and as JSON, at the same instants', () => {
  const running: JsonService[] = [];
  afterEach(async () => {
    await Promise.all(running.splice(0).map((one) => one.close()));
  });
  const start = async (): Promise<{ service: JsonService; clock: FakeClock }> => {
    const clock = fakeClock();
    const service = await JsonService.start(LIMITS, { store: memoryStore({ clock }), isPrivate: true });
    running.push(service);
    return { service, clock };
  };

  it('get the same answers', async () => {
    const random = seeded(testSeed(19));
    const [grpc, json] = [await start(), await start()];
    const codes = new Set<string>();
    for (let i = 0; i < cases(1000); i++) {
      const request = requestOf(random);
      const expected = protobufJson(await grpc.service.rls.ask(request));
      const { status, body } = await json.service.ask(jsonOf(request));
      const answer = JSON.parse(body) as ResponseFields;
      codes.add(answer.overallCode);

      expect([i, request, answer]).toEqual([i, request, expected]);
      expect(status).toBe(answer.overallCode === 'OK' ? 200 : 429);
      const stepMs = random.pick([0, 0, 300, 7_000, 60_000]);
      for (const { clock } of [grpc, json]) clock.advance(stepMs);
    }
    expect([...codes].sort()).toEqual(['OK', 'OVER_LIMIT']);
  });
});

function requestOf(random: Random): RequestFields {
  const descriptors = Array.from({ length: random.integer(1, 3) }, (): DescriptorFields => {
    const subject = random.percent(90) ? random.pick([...SUBJECTS]) : random.pick([...RARE]);
    return descriptor(subject, {
      ...(random.percent(40) ? { hitsAddend: { value: random.integer(0, 3) } } : {}),
      ...(random.percent(10) ? { isNegativeHits: true } : {}),
      ...(random.percent(15) ? { limit: { requestsPerUnit: random.integer(0, 4), unit: random.integer(1, 6) } } : {}),
    });
  });
  return { domain: random.percent(95) ? 'shop' : 'other', descriptors, hitsAddend: random.integer(0, 2) };
}

/** A request as protobuf's JSON has it: a wrapped number is bare. */
function jsonOf({ descriptors = [], ...request }: RequestFields): unknown {
  return {
    ...request,
    descriptors: descriptors.map(({ hitsAddend, ...more }) => ({
      ...more,
      ...(hitsAddend === undefined ? {} : { hitsAddend: String(hitsAddend.value) }),
    })),
  };
}

/** What protobufjs has decoded, as protobuf's JSON has it: durations are texts, and a Struct is what it stands for. */
function protobufJson({ statuses, dynamicMetadata, ...response }: ResponseFields): unknown {
  const status = ({ durationUntilReset, ...more }: StatusFields): unknown => ({
    ...more,
    ...(durationUntilReset === undefined ? {} : { durationUntilReset: `${String(durationUntilReset.seconds ?? 0)}s` }),
  });
  return {
    ...response,
    ...(statuses === undefined ? {} : { statuses: statuses.map(status) }),
    ...(dynamicMetadata === undefined ? {} : { dynamicMetadata: structOf(dynamicMetadata) }),
  };
}

interface Struct {
  readonly fields?: Readonly<Record<string, unknown>>;
}

function structOf({ fields = {} }: Struct): unknown {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, valueOf(value as object)]));
}

function valueOf(value: object): unknown {
  const [[kind, member] = ['nullValue', undefined]] = Object.entries(value) as [string, unknown][];
  if (kind === 'nullValue') return null;
  if (kind === 'structValue') return structOf(member as Struct);
  if (kind === 'listValue') return ((member as { values?: object[] }).values ?? []).map(valueOf);
  return member;
}
