import { Failure, UsageError } from './terminal/failure.ts';
import { candidateFromText } from './candidates/from-text.ts';
import { DecisionsFile } from './decisions-file.ts';
import { keySpec, type KeySpec } from './keys/key-spec.ts';
import { RouteTemplates } from './keys/route-templates.ts';
import { readSettings, type SimulateFlags } from './options.ts';
import { checkOutputs, writeWhole, type NamedFile } from './output-files.ts';
import { Progress } from './progress.ts';
import { openSource } from './read/sources.ts';
import { exceeded } from './report/bound.ts';
import { htmlReport } from './report/html-report.ts';
import { curvesOf } from './report/curves.ts';
import { reportOf } from './report/report.ts';
import { textReport } from './report/text-report.ts';
import { simulate, type SimulateOptions, type Simulation } from './simulate.ts';

/** The share of the clients that suggested limits deny where `--max-clients` is not given. */
const USUAL_MAX_CLIENTS = 0.001;

/**
 * `sluice simulate`: replays the logs, prints the report, and writes the files that were asked for.
 *
 * @param json - Whether the report is printed as JSON.
 * @throws (rejects) UsageError; Failure where a candidate exceeds the bound.
 */
export async function runSimulation(logs: readonly string[], flags: SimulateFlags, json: boolean): Promise<void> {
  const { makeFormat, maxClients, maxKeys, resortMs } = readSettings(flags);
  const sources = logs.map(openSource);
  if (logs.filter((path) => path === '-').length > 1)
    throw new UsageError('the standard input can be only one of the logs');
  checkOutputs(
    named({ '--html': flags.html, '--decisions': flags.decisions }),
    logs.map((path): NamedFile => ['one of the logs', path]),
  );
  const routes = flags.route === undefined ? undefined : new RouteTemplates(flags.route);
  const keyOf = (text: string): KeySpec => keySpec(text, routes);
  const key = keyOf(flags.key);
  const candidates = (flags.policy ?? []).map((text) => candidateFromText(text, key, keyOf));
  const keys = [key, ...candidates.flatMap(({ limits }) => limits.map((limit) => limit.key))];
  if (routes !== undefined && !keys.some(({ hasRoute }) => hasRoute))
    throw new UsageError('--route has no use: no key has the route; write --key route or --key ip,route');

  const decisions = flags.decisions === undefined ? undefined : new DecisionsFile(flags.decisions);
  const simulation = await replay({
    ...{ sources, candidates, key, makeFormat, maxKeys, resortMs },
    ...{ curves: flags.html !== undefined, onDecision: decisions?.add },
  });
  decisions?.close();
  const report = reportOf(simulation, key.text, maxClients ?? USUAL_MAX_CLIENTS);
  const over = exceeded(report, maxClients);

  if (flags.html !== undefined)
    writeWhole('--html', flags.html, htmlReport({ ...report, exceeded: over }, curvesOf(simulation)));
  console.log(json ? JSON.stringify({ ...report, exceeded: over }, null, 2) : textReport(report, over));
  // The bound holds for a log without requests, and says nothing.
  if (maxClients !== undefined && report.requests === 0)
    throw new Failure(
      `no requests in ${report.logs.map(({ name }) => name).join(', ')}: --max-clients says nothing about it`,
    );
  if (over.length > 0) throw new Failure('--max-clients is exceeded');
}

async function replay(options: SimulateOptions): Promise<Simulation> {
  const progress = new Progress(options.sources);
  try {
    return await simulate({
      ...options,
      onProgress: (lines) => {
        progress.report(lines);
      },
    });
  } finally {
    progress.end();
  }
}

/** The files that were named. */
function named(paths: Readonly<Record<string, string | undefined>>): readonly NamedFile[] {
  return Object.entries(paths).flatMap(([name, path]): NamedFile[] => (path === undefined ? [] : [[name, path]]));
}
