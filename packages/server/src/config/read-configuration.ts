import type { ConfigurationData, ForwardAuthData, PolicyData } from './configuration-data.ts';
import { ConfigurationError, type Problem } from './configuration-error.ts';
import { readDescriptors, type Above } from './descriptors.ts';
import { readForwardAuth } from './forward-auth.ts';
import { isName, NAME_FORM, readPolicy } from './policy-value.ts';
import { SentinelReader } from './sentinel.ts';
import { escapePart } from './subject.ts';
import { YamlFile } from './yaml-file.ts';
import { readDocuments, quoted, type YamlValue } from './yaml-value.ts';

/** A file as it was read. */
export interface ConfigurationFile {
  readonly path: string;
  readonly text: string;
}

const FIELDS = ['domain', 'descriptors', 'limits', 'forward_auth', 'sentinel'] as const;
const EXPECTED = 'domain: and descriptors:, limits:, forward_auth: or sentinel:';

/**
 * Reads a configuration: YAML in envoyproxy/ratelimit's format, with the additions `sluice`, `limits`, `forward_auth`
 * and `sentinel`. Several documents work like several files, and may have rules of one domain.
 *
 * @throws ConfigurationError with every problem of every file.
 */
export function readConfiguration(files: readonly ConfigurationFile[]): ConfigurationData {
  const parts = new ConfigurationParts();
  const problems: Problem[] = [];
  for (const { path, text } of files) {
    const file = new YamlFile(path, text);
    if (!file.hasProblems) parts.read(file);
    problems.push(...file.problems);
  }
  if (problems.length > 0) throw new ConfigurationError(problems);
  const { domains, limits, forwardAuth, sentinel } = parts;
  return { domains, limits, forwardAuth: forwardAuth?.data, sentinelRules: sentinel.rules };
}

/** The contents of the documents read so far. */
class ConfigurationParts {
  readonly domains: ConfigurationData['domains'][number][] = [];
  readonly limits: Map<string, PolicyData> = new Map();
  readonly sentinel: SentinelReader = new SentinelReader();
  forwardAuth: { readonly data: ForwardAuthData; readonly place: string } | undefined;
  readonly #roots = new Map<string, Above>();
  /** Where each limit was defined, by its lower-case name. */
  readonly #places = new Map<string, string>();

  read(file: YamlFile): void {
    const documents = readDocuments(file);
    if (documents.length === 0) file.problem(0, `the file is empty; it must hold ${EXPECTED}`);
    for (const document of documents) this.#readDocument(document);
  }

  #readDocument(document: YamlValue): void {
    const names = document.isMap ? document.fields('a configuration', EXPECTED).map(({ name }) => name) : [];
    if (!FIELDS.some((name) => names.includes(name))) {
      // Without any of these fields, this may be any file, so its text is not shown.
      document.problem(`a configuration must hold ${EXPECTED}; this holds none of them`);
      return;
    }
    const fields = document.record(FIELDS, 'a configuration', EXPECTED);
    if (names.includes('domain') || names.includes('descriptors')) this.#readDomain(fields.domain, fields.descriptors);
    for (const { name, value } of fields.limits.fields('limits', 'a policy under each name'))
      this.#readLimit(name, value);
    this.#readForwardAuth(fields.forward_auth);
    this.sentinel.read(fields.sentinel);
  }

  #readDomain(named: YamlValue, descriptors: YamlValue): void {
    const domain = named.text('domain');
    const name = domain ?? '';
    if (domain === '' || named.isMissing) {
      named.problem('descriptors need a non-empty domain; write domain: and the name that Envoy sends');
    }
    const root = this.#roots.get(name) ?? { name, key: escapePart(name), places: new Map<string, string>() };
    this.#roots.set(name, root);
    this.domains.push({ name, descriptors: readDescriptors(descriptors, root) });
  }

  #readLimit(name: string, written: YamlValue): void {
    const earlier = this.#places.get(name.toLowerCase());
    if (earlier !== undefined) {
      written.problemAtName(`the limit ${quoted(name)} has been defined at ${earlier}; names differ in more than case`);
    }
    if (!isName(name)) {
      written.problemAtName(`the name of a limit must be ${NAME_FORM}, got ${quoted(name)}`);
      return;
    }
    const policy = readPolicy(written, { where: name, name, mayName: false });
    if (policy === undefined) return;
    this.limits.set(name, policy);
    this.#places.set(name.toLowerCase(), written.place);
  }

  #readForwardAuth(value: YamlValue): void {
    if (value.isMissing) return;
    if (this.forwardAuth !== undefined) {
      value.problemAtName(
        `forward_auth has been defined at ${this.forwardAuth.place}; its rules have an order, so write them in one place`,
      );
    }
    this.forwardAuth = { data: readForwardAuth(value), place: value.place };
  }
}
