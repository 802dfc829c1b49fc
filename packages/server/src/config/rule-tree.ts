import type { DescriptorEntry, Match, Rule, RuleTree } from './configuration.ts';
import { RuleNode } from './rule-node.ts';

/** The rules of one domain. */
export class DomainRules implements RuleTree {
  readonly root: RuleNode;

  constructor(domain: string) {
    this.root = RuleNode.root(domain);
  }

  match(entries: readonly DescriptorEntry[]): Match | undefined {
    let node = this.root;
    for (let i = 0; i < entries.length; i++) {
      const next = node.next(entries[i] as DescriptorEntry);
      if (next === undefined) return undefined;
      node = next;
    }
    const { rule } = node;
    return rule === undefined ? undefined : { rule, key: node.keyFor(entries), metric: node.metric(entries) };
  }

  /** Every rule with its name in metrics, in the order of the file. */
  rules(): Iterable<{ readonly name: string; readonly rule: Rule }> {
    return this.root.rules();
  }
}
