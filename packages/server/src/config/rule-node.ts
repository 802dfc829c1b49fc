import type { Limit } from '@sluice/core/spi';
import type { DescriptorData, RuleData } from './configuration-data.ts';
import { escapePart, makeLabel, makeSegment, type DescriptorEntry } from './subject.ts';
import { Wildcard } from './wildcard.ts';

export interface Rule extends RuleData {
  /** Undefined if the rule is `unlimited`. */
  readonly limit: Limit | undefined;
}

/** A rule that a descriptor has met. */
export interface Match {
  readonly rule: Rule;
  /**
   * Domain and entries, joined so that no two descriptors share it. With `share_threshold`, the matching pattern
   * replaces the value.
   */
  readonly key: string;
  /** The name of the rule in metrics, without values of requests. */
  readonly metric: string;
}

/** The children of a descriptor that have the same key. */
interface KeyRules {
  /** By value. Patterns too: a request whose value is the text of a pattern matches that pattern. */
  readonly values: Map<string, RuleNode>;
  readonly wildcards: { readonly wildcard: Wildcard; readonly node: RuleNode }[];
  any: RuleNode | undefined;
}

/** A descriptor of the file with its children, or the root of a domain. */
export class RuleNode {
  /** The name in metrics, without values of requests. */
  readonly name: string;
  readonly rule: Rule | undefined;
  /** The path from the root to this descriptor. */
  readonly #path: readonly RuleNode[];
  /** The part that it adds to the key; undefined if that depends on the request. */
  readonly #segment: string | undefined;
  #keys: Map<string, KeyRules> | undefined;
  /** In the order of the files. */
  readonly #children: RuleNode[] = [];

  static root(domain: string): RuleNode {
    return new RuleNode(domain, escapePart(domain), []);
  }

  private constructor(label: string, segment: string | undefined, above: readonly RuleNode[], rule?: Rule) {
    const parent = above.at(-1);
    this.name = parent === undefined ? label : `${parent.name}.${label}`;
    this.rule = rule;
    this.#path = [...above, this];
    this.#segment = segment;
  }

  /** Adds descriptors that are not there yet, with their children. */
  addAll(descriptors: readonly DescriptorData[], ruleFor: (rule: RuleData) => Rule): void {
    for (const descriptor of descriptors) {
      const { key, value, shareThreshold } = descriptor;
      const isPattern = value.includes('*');
      const segment = value !== '' && (!isPattern || shareThreshold) ? makeSegment(key, value) : undefined;
      const rule = descriptor.rule && ruleFor(descriptor.rule);
      const node = new RuleNode(makeLabel(key, value), segment, this.#path, rule);
      this.#children.push(node);
      this.#keys ??= new Map();
      const rules: KeyRules = this.#keys.get(key) ?? { values: new Map(), wildcards: [], any: undefined };
      this.#keys.set(key, rules);
      if (value === '') rules.any = node;
      else rules.values.set(value, node);
      if (isPattern) rules.wildcards.push({ wildcard: new Wildcard(value), node });
      node.addAll(descriptor.descriptors, ruleFor);
    }
  }

  /**
   * The rule of a descriptor: the rule of its last entry, at the same depth below this node. At each level, an exact
   * key and value come first, then values with `*` in order, then the key alone. Undefined if no rule limits it.
   */
  match(entries: readonly DescriptorEntry[]): Match | undefined {
    // eslint-disable-next-line @typescript-eslint/no-this-alias -- where the walk begins
    let node: RuleNode = this;
    for (let i = 0; i < entries.length; i++) {
      const next = node.#next(entries[i] as DescriptorEntry);
      if (next === undefined) return undefined;
      node = next;
    }
    const { rule } = node;
    return rule === undefined ? undefined : { rule, key: node.#keyFor(entries), metric: node.name };
  }

  /** The rules of this descriptor and of those below, in the order of the files. */
  *rules(): Generator<Rule> {
    if (this.rule !== undefined) yield this.rule;
    for (const child of this.#children) yield* child.rules();
  }

  #next({ key, value }: DescriptorEntry): RuleNode | undefined {
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

  #keyFor(entries: readonly DescriptorEntry[]): string {
    let joined = '';
    for (let i = 0; i < this.#path.length; i++) {
      const { key = '', value = '' } = entries[i - 1] ?? {}; // the root has a fixed segment
      joined += (this.#path[i] as RuleNode).#segment ?? makeSegment(key, value);
    }
    return joined;
  }
}
