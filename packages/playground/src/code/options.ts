import { kindOf } from '../policy-kinds.ts';
import { optionsOf, type PolicyChoice } from '../policies.ts';
import { HEADER_CHOICES } from '../response.ts';
import type { KeyChoice, Scenario } from '../scenario.ts';
import { list, literal, object } from './write.ts';

const REDIS_URL = 'redis://localhost:6379';

const KEYS: Readonly<Record<KeyChoice, { readonly imports: readonly string[]; readonly code: string | undefined }>> = {
  ip: { imports: [], code: undefined }, // the default
  user: { imports: ['byUser'], code: 'byUser()' },
  'api-key': { imports: ['byHeader'], code: "byHeader('x-api-key')" },
  all: { imports: ['byAll'], code: 'byAll()' },
};

/** The names that the code of a scenario imports for its policies and its store. */
export function limiterImports({ policies, store }: Scenario): readonly string[] {
  const makers = policies.map(({ kind }) => kindOf(kind)?.make ?? '');
  return [...makers, ...(store === 'redis' ? ['redisStore'] : [])];
}

/** The properties of `createLimiter`: policies and store. */
export function limiterProperties({ policies, store }: Scenario, indent: number): readonly string[] {
  const [first] = policies;
  const only = policies.length === 1 && first !== undefined;
  return [
    only
      ? `policy: ${policyCode(first, indent, indent + 'policy: '.length)}`
      : `policy: ${list(
          policies.map((policy) => policyCode(policy, indent + 2)),
          indent,
        )}`,
    ...(store === 'redis' ? [`store: redisStore(${literal(REDIS_URL)}, { prefix: 'shop' })`] : []),
  ];
}

/** All names that the options of an adapter import. */
export function adapterImports(scenario: Scenario): readonly string[] {
  return [...limiterImports(scenario), ...KEYS[scenario.key].imports];
}

/** The properties of an adapter's options. */
export function adapterProperties(scenario: Scenario, indent: number): readonly string[] {
  const { key, traffic } = scenario;
  const [policy = '', ...store] = limiterProperties(scenario, indent);
  const { code } = KEYS[key];
  const cost = traffic.from === 'painted' ? traffic.cost : 1;
  const { format = 'draft-11' } = HEADER_CHOICES.find(({ id }) => id === scenario.headers) ?? {};
  return [
    policy,
    ...(code === undefined ? [] : [`key: ${code}`]),
    ...(cost === 1 ? [] : [`cost: ${String(cost)}`]),
    ...(format === 'draft-11' ? [] : [`headers: ${headersCode(format)}`]),
    ...store,
  ];
}

function headersCode(format: string | { readonly legacy: string }): string {
  return typeof format === 'string' ? literal(format) : `{ legacy: ${literal(format.legacy)} }`;
}

/** @param column - Where its first line begins, if that is not at the indent. */
function policyCode(policy: PolicyChoice, indent: number, column = indent): string {
  const make = kindOf(policy.kind)?.make ?? '';
  const properties = Object.entries(optionsOf(policy)).map(([name, value]) => `${name}: ${literal(value)}`);
  return `${make}(${object(properties, indent, column + make.length + '(),'.length)})`;
}
