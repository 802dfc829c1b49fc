import { kindOf } from '../policy-kinds.ts';
import type { KeyChoice, Scenario } from '../scenario.ts';
import { limiterImports, limiterProperties } from './options.ts';
import { object } from './write.ts';

const KEYS: Readonly<Record<KeyChoice, string>> = {
  ip: "request.socket.remoteAddress ?? 'unknown';",
  user: "String(request.headers['x-user']); // the user who has signed in",
  'api-key': "String(request.headers['x-api-key']);",
  all: "'all';",
};

/** The limiter itself, in a server without a framework. */
export function coreCode(scenario: Scenario): string {
  const { policies, key, traffic } = scenario;
  const kinds = policies.map(({ kind }) => kindOf(kind)?.make);
  const cost = traffic.from === 'painted' ? traffic.cost : 1;
  const names = [...new Set(['createLimiter', ...limiterImports(scenario)])].sort((a, b) => a.localeCompare(b));
  const paces = kinds.includes('leakyBucket');
  return [
    "import { createServer } from 'node:http';",
    ...(paces ? ["import { setTimeout as sleep } from 'node:timers/promises';"] : []),
    `import ${object(names, 0, "import  from '@sluice/core';".length)} from '@sluice/core';`,
    '',
    `const limiter = createLimiter(${object(limiterProperties(scenario, 2), 0, Infinity)});`,
    '',
    'createServer(async (request, response) => {',
    `  const key = ${KEYS[key]}`,
    ...decision(kinds.includes('concurrency'), cost),
    '  if (!decision.allowed) {',
    '    const { retryAfterMs } = decision;',
    '    response.statusCode = 429;',
    '    if (retryAfterMs !== null) {',
    "      response.setHeader('Retry-After', Math.ceil(retryAfterMs / 1000));",
    '    }',
    "    response.end('Too many requests\\n');",
    '    return;',
    '  }',
    ...(paces ? ['  await sleep(decision.delayMs);'] : []),
    "  response.end('hello\\n');",
    '}).listen(3000);',
    '',
  ].join('\n');
}

function decision(holds: boolean, cost: number): readonly string[] {
  const args = cost === 1 ? 'key' : `key, ${String(cost)}`;
  if (!holds) return [`  const decision = await limiter.consume(${args});`];
  return [
    `  const { decision, release } = await limiter.acquire(${args});`,
    "  response.once('close', () => void release());",
  ];
}
