import { Failure, UsageError } from './terminal/failure.ts';
import type { Candidate } from './candidates/candidate.ts';
import { candidatesFromFile } from './candidates/from-file.ts';
import { candidateFromText, type CandidateContext } from './candidates/from-text.ts';
import { DecisionsFile } from './decisions-file.ts';
import { costSpec } from './keys/cost-spec.ts';
import { keySpec, type KeySpec } from './keys/key-spec.ts';
import { RouteTemplates } from './keys/route-templates.ts';
import { routesFor } from './keys/routes-file.ts';
import { readSettings, type SimulateFlags, type SimulateSettings } from './options.ts';
import { checkOutputs, writeWhole, type NamedFile } from './output-files.ts';
import { Progress } from './progress.ts';
import { openSource, type Source } from './read/sources.ts';
import { checkReport, exceeded, type CheckReport } from './report/check.ts';
import { htmlReport } from './report/html-report.ts';
import { curvesOf } from './report/curves.ts';
import { reportOf, type Report } from './report/report.ts';
import { textReport } from './report/text-report.ts';
import { simulate, type Simulation } from './simulate.ts';

/** The input of a simulation from the command around it. */
export interface SimulationContext {
  /** Whether the report is printed as JSON. */
  readonly json: boolean;
  /** The managed policy of a name. Rejects where there is none. */
  readonly managed: CandidateContext['managed'];
}

/** A candidate that exceeds a bound: the report has said which. */
class BoundExceeded extends Failure {}

/**
 * `sluice simulate`: replays the logs, prints the report, and writes the files that were asked for.
 *
 * @throws (rejects) UsageError; Failure where a candidate exceeds a bound.
 */
export async function runSimulation(
  logs: readonly string[],
  flags: SimulateFlags,
  { json, managed }: SimulationContext,
): Promise<void> {
  const settings = readSettings(flags);
  const paths = [...logs, ...(flags.check ?? [])];
  const sources = logs.map(openSource);
  const checked = (flags.check ?? []).map(openSource);
  if (paths.filter((path) => path === '-').length > 1)
    throw new UsageError('the standard input can be only one of the logs');
  checkOutputs(named({ '--html': flags.html, '--decisions': flags.decisions }), [
    ...paths.map((path): NamedFile => ['one of the logs', path]),
    ...named({ 'the file of --limits': flags.limits, 'the file of --routes': flags.routes }),
  ]);
  const { key, candidates, context, routes } = await prepare(flags, managed);
  if (key.needsRoutes || candidates.some(({ limits }) => limits.some((limit) => limit.key.needsRoutes)))
    routes.found = await routesFor(flags.routes, sources, settings.makeFormat);
  else if (flags.routes !== undefined)
    throw new UsageError(
      `--routes ${flags.routes} has no use: no key has the route; write --key route or --key ip,route`,
    );

  const run: Run = { flags, settings, key, candidates, curves: flags.html !== undefined };
  const decisions = flags.decisions === undefined ? undefined : new DecisionsFile(flags.decisions);
  const simulation = await replay(sources, { ...run, decisions });
  decisions?.close();
  const report = reportOf(simulation, key.text, settings.loss);
  const check = checked.length === 0 ? null : await runCheck(checked, report, { ...run, context });
  const over = exceeded(report, check, settings.bounds);

  if (flags.html !== undefined)
    writeWhole('--html', flags.html, htmlReport({ ...report, check, exceeded: over }, curvesOf(simulation)));
  console.log(json ? JSON.stringify({ ...report, check, exceeded: over }, null, 2) : textReport(report, check, over));
  checkThereAreRequests(report, check, flags);
  if (over.length > 0)
    throw new BoundExceeded(`${String(over.length)} of the bounds ${over.length === 1 ? 'is' : 'are'} exceeded`);
}

/** @throws Failure for a bound on a log without requests: it holds, and says nothing. */
function checkThereAreRequests(report: Report, check: CheckReport | null, flags: SimulateFlags): void {
  const flag = flags.maxClients === undefined ? flags.maxDenied && '--max-denied' : '--max-clients';
  const empty = [report, ...(check === null ? [] : [check])].find(({ requests }) => requests === 0);
  if (flag === undefined || empty === undefined) return;
  throw new Failure(`no requests in ${empty.logs.map(({ name }) => name).join(', ')}: ${flag} says nothing about it`);
}

interface Prepared {
  readonly key: KeySpec;
  readonly candidates: readonly Candidate[];
  readonly context: CandidateContext;
  /** The templates, once they are known. */
  readonly routes: { found: RouteTemplates };
}

async function prepare(flags: SimulateFlags, managed: CandidateContext['managed']): Promise<Prepared> {
  const routes = { found: new RouteTemplates([]) };
  const keyOf = (text: string): KeySpec => keySpec(text, () => routes.found);
  const key = keyOf(flags.key);
  const context: CandidateContext = { key, keyOf, cost: flags.cost, managed };
  const candidates: Candidate[] = [];
  costSpec(flags.cost); // checked also where no candidate uses it
  for (const text of flags.policy ?? []) candidates.push(await candidateFromText(text, context));
  if (flags.limits !== undefined)
    candidates.push(...(await candidatesFromFile(flags.limits, context, flags.descriptor ?? [])));
  return { key, candidates, context, routes };
}

interface Run {
  readonly flags: SimulateFlags;
  readonly settings: SimulateSettings;
  readonly key: KeySpec;
  readonly candidates: readonly Candidate[];
  readonly curves: boolean;
  readonly decisions?: DecisionsFile | undefined;
}

async function replay(
  sources: readonly Source[],
  { flags, settings, key, candidates, curves, decisions }: Run,
): Promise<Simulation> {
  const progress = new Progress(sources);
  try {
    return await simulate({
      ...{ sources, candidates, key },
      ...{ makeFormat: settings.makeFormat, maxKeys: settings.maxKeys, resortMs: settings.resortMs },
      ...{ curves, retry: flags.retry === true },
      onDecision: decisions?.add,
      onProgress: (lines) => {
        progress.report(lines);
      },
    });
  } finally {
    progress.end();
  }
}

/** Replays the second log through the candidates and the suggested limits. */
async function runCheck(
  sources: readonly Source[],
  { suggestions }: Report,
  run: Run & { readonly context: CandidateContext },
): Promise<CheckReport> {
  const texts = [
    ...suggestions.windows.map(({ policy }) => policy),
    ...suggestions.buckets.map(
      ({ capacity, refill, every }) =>
        `tokenBucket --capacity ${String(capacity)} --refill ${String(refill)} --every ${every}`,
    ),
  ];
  // A suggestion counts requests, whatever they cost.
  const suggested = await Promise.all(texts.map((text) => candidateFromText(text, { ...run.context, cost: '1' })));
  const simulation = await replay(sources, { ...run, curves: false, candidates: [...run.candidates, ...suggested] });
  return checkReport(reportOf(simulation, run.key.text, run.settings.loss), suggested.length);
}

/** The files that were named. */
function named(paths: Readonly<Record<string, string | undefined>>): readonly NamedFile[] {
  return Object.entries(paths).flatMap(([name, path]): NamedFile[] => (path === undefined ? [] : [[name, path]]));
}
