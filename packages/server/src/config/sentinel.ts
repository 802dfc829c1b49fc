import type { SentinelNumbers } from './configuration-data.ts';
import { readParameter } from './sentinel-parameter.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

const FIELDS = ['namespace', 'maxClients', 'rules'] as const;
/** The fields that are used, of many that Sentinel's dashboard writes. */
const RULE_FIELDS = [
  ...(['rule', 'resource', 'count', 'clusterMode', 'clusterConfig', 'paramIdx', 'paramFlowItemList'] as const),
] as const;
const CLUSTER_FIELDS = ['flowId', 'thresholdType', 'windowIntervalMs', 'sampleCount'] as const;
const ITEM_FIELDS = ['object', 'count', 'classType'] as const;
const RULES = "Sentinel's FlowRule and ParamFlowRule in JSON";

const MAX_INT = 2_147_483_647;
const MAX_LONG = 2n ** 63n - 1n;
const MAX_COUNT = 1e12;
const MAX_NAMESPACE = 256;
const DEFAULT_INTERVAL_MS = 1_000;
const MAX_INTERVAL_MS = 3_600_000;
const DEFAULT_SAMPLES = 10;
const MAX_SAMPLES = 100;

/** The parts `sentinel` of several documents, one for each namespace. */
export class SentinelReader {
  readonly rules: SentinelNumbers[] = [];
  /** Where each namespace was defined. */
  readonly #places = new Map<string, string>();
  readonly #ids = new Set<string>();

  read(value: YamlValue): void {
    if (value.isMissing) return;
    const fields = value.record(FIELDS, 'sentinel', FIELDS.join(', '));
    const namespace = this.#readNamespace(value, fields.namespace);
    const maxClients = fields.maxClients.whole('maxClients', 1, MAX_INT) ?? MAX_INT;
    for (const item of fields.rules.items('rules', RULES)) this.#readRule(item, { namespace, maxClients });
  }

  #readNamespace(value: YamlValue, named: YamlValue): string {
    const namespace = named.text('namespace') ?? '';
    if (namespace.trim() === '' || Buffer.byteLength(namespace) > MAX_NAMESPACE) {
      named.problem(
        `sentinel needs a namespace of 1 to ${String(MAX_NAMESPACE)} bytes; write the name of the application that its clients have, as in -Dproject.name, got ${quoted(namespace)}`,
      );
    }
    const known = this.#places.get(namespace);
    if (known === undefined) this.#places.set(namespace, value.place);
    else named.problem(`the namespace ${quoted(namespace)} has been defined at ${known}; write its rules in one place`);
    return namespace;
  }

  #readRule(item: YamlValue, application: Application): void {
    const outer = item.pick(RULE_FIELDS, 'a rule of sentinel', RULES);
    const fields = outer.rule.isMissing ? outer : outer.rule.pick(RULE_FIELDS, 'a rule of sentinel', RULES);
    // Others are left to each client, as by Sentinel's server: one list of Nacos has rules of both kinds.
    if (!fields.clusterMode.flag('clusterMode')) return;
    const numbers = readNumbers(item, fields, application);
    if (numbers === undefined) return;
    const id = `${numbers.values === undefined ? 'flow' : 'param'} ${String(numbers.flowId)}`;
    if (this.#ids.has(id)) {
      const what = `two rules of sentinel have the flowId ${String(numbers.flowId)}`;
      item.problem(`${what}; each rule of a kind has one of its own`);
    }
    this.#ids.add(id);
    this.rules.push(numbers);
  }
}

type Application = Pick<SentinelNumbers, 'namespace' | 'maxClients'>;
type RuleFields = Readonly<Record<(typeof RULE_FIELDS)[number], YamlValue>>;

function readNumbers(item: YamlValue, fields: RuleFields, application: Application): SentinelNumbers | undefined {
  const cluster = fields.clusterConfig.pick(CLUSTER_FIELDS, 'clusterConfig', 'flowId and thresholdType');
  const flowId = readId(cluster.flowId);
  const count = readCount(fields.count);
  const windowIntervalMs =
    cluster.windowIntervalMs.whole('windowIntervalMs', 1, MAX_INTERVAL_MS) ?? DEFAULT_INTERVAL_MS;
  const sampleCount = cluster.sampleCount.whole('sampleCount', 1, MAX_SAMPLES) ?? DEFAULT_SAMPLES;
  const isDivided = windowIntervalMs % sampleCount === 0;
  if (!isDivided) {
    const got = `${String(sampleCount)} and ${String(windowIntervalMs)}`;
    cluster.sampleCount.problem(`sampleCount must divide windowIntervalMs, got ${got}`);
  }
  const perClient = (cluster.thresholdType.whole('thresholdType', 0, 1) ?? 0) === 0;
  const resource = fields.resource.text('resource') ?? '';
  if (resource === '') item.problem('a rule of sentinel needs a resource');
  if (flowId === undefined || count === undefined || !isDivided) return undefined;
  const values = fields.paramIdx.isMissing ? undefined : readValues(fields.paramFlowItemList);
  const numbers = { at: item.at, flowId, resource, count, perClient, windowIntervalMs, sampleCount, values };
  return { ...numbers, ...application };
}

function readId(value: YamlValue): bigint | undefined {
  const text = value.text('flowId') ?? '';
  const id = /^\d{1,19}$/.test(text) ? BigInt(text) : 0n;
  if (id > 0n && id <= MAX_LONG) return id;
  value.problem(
    `a rule in cluster mode needs clusterConfig.flowId, a whole number from 1 to ${String(MAX_LONG)}, got ${quoted(text)}`,
  );
  return undefined;
}

function readCount(value: YamlValue): number | undefined {
  const count = value.plain();
  if (typeof count === 'number' && count >= 0 && count <= MAX_COUNT) return count;
  value.problem(`a rule of sentinel needs count, a number from 0 to ${String(MAX_COUNT)}`);
  return undefined;
}

function readValues(list: YamlValue): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  for (const item of list.items('paramFlowItemList', 'maps with object, count and classType')) {
    const { object, count, classType } = item.record(ITEM_FIELDS, 'an item', ITEM_FIELDS.join(', '));
    const written = object.text('object') ?? '';
    const value = readParameter(written, classType.text('classType') ?? '');
    const units = count.whole('count', 0, MAX_INT);
    if (value === undefined) object.problem(`object must be a value of its classType, got ${quoted(written)}`);
    if (units === undefined && count.isMissing) item.problem('an item needs a count');
    if (value !== undefined && units !== undefined) values.set(value, units);
  }
  return values;
}
