import type { MakeLimit } from '../limits.ts';
import type { Configuration, ForwardAuthSettings, NamedLimit } from './configuration.ts';
import { ConfigurationError, type Problem } from './configuration-error.ts';
import { readDescriptors } from './descriptors.ts';
import { readForwardAuth } from './forward-auth.ts';
import { overriddenPolicy, readKeyOverrides } from './key-overrides.ts';
import { isName, limitAt, NAME_FORM, readPolicy } from './policy-value.ts';
import { SentinelReader } from './sentinel.ts';
import { DomainRules } from './rule-tree.ts';
import { atOnce, type Steps } from './steps.ts';
import { written } from './written.ts';
import { YamlFile } from './yaml-file.ts';
import { quoted, type YamlValue } from './yaml-value.ts';

export interface ReadOptions {
  /** Makes the limit of each rule, once. */
  readonly makeLimit: MakeLimit;
  /** Whether several files, or documents of one, may have rules of one domain. Default false. */
  readonly mergeDomains?: boolean;
}

/** A file as it was read. */
export interface ConfigurationFile {
  readonly path: string;
  readonly text: string;
}

const FIELDS = ['domain', 'descriptors', 'limits', 'forward_auth', 'sentinel'] as const;
const EXPECTED = 'domain: and descriptors:, limits:, forward_auth: or sentinel:';

/**
 * Reads a configuration: YAML in envoyproxy/ratelimit's format, with `sluice`, `limits`, `forward_auth` and `sentinel` beside it.
 * Several documents are as several files.
 *
 * @param options - `path` is the name of the text in messages.
 * @throws ConfigurationError with every problem.
 */
export function readConfiguration(text: string, options: ReadOptions & { readonly path: string }): Configuration {
  return readConfigurationFiles([{ path: options.path, text }], options);
}

/**
 * Reads a configuration of several files, each as {@link readConfiguration} does.
 *
 * @throws ConfigurationError with every problem of every file.
 */
export function readConfigurationFiles(files: readonly ConfigurationFile[], options: ReadOptions): Configuration {
  return atOnce(configurationSteps(files, options));
}

/** As {@link readConfigurationFiles}, in steps: a large configuration takes seconds. */
export function* configurationSteps(files: readonly ConfigurationFile[], options: ReadOptions): Steps<Configuration> {
  const parts = new ConfigurationParts(options);
  const problems: Problem[] = [];
  for (const { path, text } of files) {
    const file = yield* YamlFile.read(path, text);
    if (!file.hasProblems) yield* parts.read(file);
    problems.push(...file.problems);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  return parts.configuration();
}

/** The contents of the documents that were read so far. */
class ConfigurationParts {
  readonly #options: ReadOptions;
  readonly #domains = new Map<string, { readonly rules: DomainRules; readonly place: string }>();
  /** By name in small letters. */
  readonly #limits = new Map<string, { readonly limit: NamedLimit; readonly place: string }>();
  readonly #sentinel: SentinelReader;
  #forwardAuth: { readonly settings: ForwardAuthSettings; readonly place: string } | undefined;

  constructor(options: ReadOptions) {
    this.#options = options;
    this.#sentinel = new SentinelReader(options.makeLimit);
  }

  *read(file: YamlFile): Steps<void> {
    if (file.documents.length === 0) file.problem(0, `the file is empty; it must hold ${EXPECTED}`);
    for (const document of file.documents) yield* this.#readDocument(document);
  }

  configuration(): Configuration {
    const domains = new Map([...this.#domains].map(([name, { rules }]) => [name, rules]));
    const limits = new Map([...this.#limits.values()].map(({ limit }) => [limit.name, limit]));
    const forwardAuth = this.#forwardAuth?.settings;
    const sentinel = this.#sentinel.settings;
    const all = { domains, limits, forwardAuth, sentinel };
    return { ...all, written: () => written([...domains.values()], all) };
  }

  *#readDocument(document: YamlValue): Steps<void> {
    if (!isConfiguration(document)) {
      // Without any of the fields this may be any file, so its text is not shown.
      document.problem(`a configuration must hold ${EXPECTED}; this holds none of them`);
      return;
    }
    const fields = document.record(FIELDS, 'a configuration', EXPECTED);
    yield* this.#readDomain(
      fields.domain,
      fields.descriptors,
      hasField(document, 'domain') || hasField(document, 'descriptors'),
    );
    yield* this.#readLimits(fields.limits);
    this.#readForwardAuth(fields.forward_auth);
    this.#sentinel.read(fields.sentinel);
  }

  *#readDomain(named: YamlValue, descriptors: YamlValue, isExpected: boolean): Steps<void> {
    if (!isExpected) return;
    const domain = named.text('domain');
    if (domain === '' || named.isMissing) {
      named.problem('descriptors need a domain that is not empty; write domain: and the name that Envoy sends');
    }
    const { rules } = this.#rulesOf(domain ?? '', named);
    yield* readDescriptors(descriptors, rules.root, this.#options.makeLimit);
  }

  /** The rules of a domain: new ones, or (`mergeDomains`) those that other files have begun. */
  #rulesOf(domain: string, named: YamlValue): { readonly rules: DomainRules } {
    const known = this.#domains.get(domain);
    if (known !== undefined && this.#options.mergeDomains === true) return known;
    const added = { rules: new DomainRules(domain), place: named.place };
    if (known === undefined) this.#domains.set(domain, added);
    else named.problem(`the domain ${quoted(domain)} has been defined at ${known.place}; write its rules in one place`);
    return added;
  }

  *#readLimits(value: YamlValue): Steps<void> {
    for (const { name, value: written } of value.fields('limits', 'a policy under each name')) {
      yield;
      const known = this.#limits.get(name.toLowerCase());
      if (known !== undefined) {
        written.problemAtName(
          `the limit ${quoted(name)} has been defined at ${known.place}; names differ in more than case`,
        );
      }
      if (!isName(name)) {
        written.problemAtName(`the name of a limit must be ${NAME_FORM}, got ${quoted(name)}`);
        continue;
      }
      const limit = yield* this.#readLimit(name, written);
      if (limit !== undefined) this.#limits.set(name.toLowerCase(), { limit, place: written.place });
    }
  }

  *#readLimit(name: string, written: YamlValue): Steps<NamedLimit | undefined> {
    const read = readPolicy(written, { where: name, name, mayName: false, beside: ['overrides'] });
    if (read === undefined) return undefined;
    const { base, managed } = read;
    const list = written.fields(name, 'a policy').find((field) => field.name === 'overrides');
    const overrides = list === undefined ? [] : yield* readKeyOverrides(list.value, name, read);
    const policy = base === undefined || overrides.length === 0 ? read.policy : overriddenPolicy(base, overrides);
    const limit = limitAt(written, policy, this.#options.makeLimit);
    return limit && { name, policy, limit, managed, base, written: read.written, overrides };
  }

  #readForwardAuth(value: YamlValue): void {
    if (value.isMissing) return;
    if (this.#forwardAuth !== undefined) {
      value.problemAtName(
        `forward_auth has been defined at ${this.#forwardAuth.place}; its rules have an order, so write them in one place`,
      );
    }
    this.#forwardAuth = { settings: readForwardAuth(value, this.#options.makeLimit), place: value.place };
  }
}

/** Whether a document has a field that configurations have, or none at all. */
function isConfiguration(document: YamlValue): boolean {
  return FIELDS.some((name) => hasField(document, name));
}

function hasField(document: YamlValue, name: string): boolean {
  return document.isMap && document.fields('a configuration', EXPECTED).some((field) => field.name === name);
}
