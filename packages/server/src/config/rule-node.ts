import type { DescriptorEntry, Rule } from './configuration.ts';
import { MetricNames } from './metric-names.ts';
import { escapePart, labelOf, segmentOf } from './subject.ts';
import { Wildcard } from './wildcard.ts';

/** The properties of a descriptor of the file. */
export interface DescriptorOptions {
  readonly key: string;
  /** Empty: any value. */
  readonly value: string;
  readonly rule: Rule | undefined;
  /** Requests that match the pattern are counted under it, not under their values. */
  readonly shareThreshold: boolean;
  readonly detailedMetric: boolean;
  readonly valueToMetric: boolean;
  /** Where it is in the files, for messages. */
  readonly place: string;
}

/** The descriptors below another that have one key. */
interface KeyRules {
  /** By value. Patterns too: a request whose value is the text of a pattern matches that pattern. */
  readonly values: Map<string, RuleNode>;
  readonly wildcards: { readonly wildcard: Wildcard; readonly node: RuleNode }[];
  any: RuleNode | undefined;
}

/** A descriptor of the file with those below it, or the root of a domain. */
export class RuleNode {
  /** The name in metrics, without values of requests. */
  readonly name: string;
  /** The part that it adds to the name of the node above: `key_value`. */
  readonly label: string;
  readonly rule: Rule | undefined;
  /** Where it is in the files. Empty for a root. */
  readonly place: string;
  /** The root, the descriptors above this one, and this one. */
  readonly #path: readonly RuleNode[];
  /** The part that it adds to the key; undefined if that depends on the request. */
  readonly #segment: string | undefined;
  /** The part that it adds before the value of a request, where that depends on the request. */
  readonly #keyPart: string;
  readonly #valueToMetric: boolean;
  readonly #detailedMetric: boolean;
  /** Those of its requests, where they hold values of them. Beyond their bound, the name is `NAME_other`. */
  readonly #metricNames: MetricNames | undefined;
  #keys: Map<string, KeyRules> | undefined;
  /** In the order of the files. */
  readonly #children: RuleNode[] = [];
  /** The key, where it is the same for all requests. */
  #fixedKey: string | undefined;

  static root(domain: string): RuleNode {
    return new RuleNode(domain, escapePart(domain), undefined, undefined);
  }

  private constructor(
    label: string,
    segment: string | undefined,
    parent: RuleNode | undefined,
    options: DescriptorOptions | undefined,
  ) {
    this.name = parent === undefined ? label : `${parent.name}.${label}`;
    this.rule = options?.rule;
    this.place = options?.place ?? '';
    this.#path = parent === undefined ? [this] : [...parent.#path, this];
    this.label = label;
    this.#segment = segment;
    this.#keyPart = segmentOf(options?.key ?? '', '');
    this.#valueToMetric = options?.valueToMetric ?? false;
    this.#detailedMetric = options?.detailedMetric ?? false;
    const isBounded = this.#path.every((node) => !this.#shows(node));
    this.#metricNames = isBounded || this.rule === undefined ? undefined : new MetricNames();
  }

  /** The descriptor with this key and value below this one. */
  child(key: string, value: string): RuleNode | undefined {
    const rules = this.#keys?.get(key);
    return value === '' ? rules?.any : rules?.values.get(value);
  }

  /** @param options - Of a descriptor that is no child yet. */
  add(options: DescriptorOptions): RuleNode {
    const { key, value } = options;
    const isPattern = value.includes('*');
    const isFixed = value !== '' && (!isPattern || options.shareThreshold);
    const node = new RuleNode(labelOf(key, value), isFixed ? segmentOf(key, value) : undefined, this, options);
    this.#children.push(node);
    this.#keys ??= new Map();
    const rules: KeyRules = this.#keys.get(key) ?? { values: new Map(), wildcards: [], any: undefined };
    this.#keys.set(key, rules);
    if (value === '') rules.any = node;
    else rules.values.set(value, node);
    if (isPattern) rules.wildcards.push({ wildcard: new Wildcard(value), node });
    return node;
  }

  /** The descriptor that an entry matches: by its value, else by the first pattern, else by its key alone. */
  next({ key, value }: DescriptorEntry): RuleNode | undefined {
    const rules = this.#keys?.get(key);
    if (rules === undefined) return undefined;
    const exact = rules.values.get(value);
    if (exact !== undefined) return exact;
    for (let i = 0; i < rules.wildcards.length; i++) {
      const { wildcard, node } = rules.wildcards[i] as (typeof rules.wildcards)[number];
      if (wildcard.matches(value)) return node;
    }
    return rules.any;
  }

  /** The key of entries that match this descriptor. */
  keyFor(entries: readonly DescriptorEntry[]): string {
    if (this.#fixedKey !== undefined) return this.#fixedKey;
    let joined = '';
    let isFixed = true;
    for (let i = 0; i < this.#path.length; i++) {
      const node = this.#path[i] as RuleNode;
      const segment = node.#segment;
      if (segment === undefined) isFixed = false;
      joined += segment ?? node.#keyPart + escapePart((entries[i - 1] as DescriptorEntry).value);
    }
    if (isFixed) this.#fixedKey = joined;
    return joined;
  }

  /** The name in metrics of entries that match this descriptor. */
  metric(entries: readonly DescriptorEntry[]): string {
    if (this.#metricNames === undefined) return this.name;
    let name = '';
    for (let i = 0; i < this.#path.length; i++) {
      const node = this.#path[i] as RuleNode;
      const { key, value } = entries[i - 1] ?? ROOT_ENTRY;
      name += (i === 0 ? '' : '.') + (this.#shows(node) ? labelOf(key, value) : node.label);
    }
    return this.#metricNames.bounded(name, `${this.name}_other`);
  }

  /** The rules of this descriptor and of those below, by their names in metrics. */
  *rules(): Generator<{ readonly name: string; readonly rule: Rule }> {
    if (this.rule !== undefined) yield { name: this.name, rule: this.rule };
    for (const child of this.#children) yield* child.rules();
  }

  /** Whether the name of this descriptor in metrics holds the value that a request has for one on the path. */
  #shows(node: RuleNode): boolean {
    return node.#segment === undefined && (this.#detailedMetric || node.#valueToMetric);
  }
}

const ROOT_ENTRY: DescriptorEntry = { key: '', value: '' };
