import { SITE } from '@sluice/old-core/spi';
import { Option, type Command } from 'commander';
import { readServeOptions, type ServeFlags } from './serve-options.ts';
import { serve } from './serve.ts';

const ADDRESS = 'port|host:port|unix:path|off';

/** Adds `sluice serve`. */
export function addServe(sluice: Command): void {
  sluice
    .command('serve')
    .summary('serve limits to Envoy, to gateways and to programs')
    .description(
      "Answers Envoy's rate limit protocol, forward auth of gateways, and programs over HTTP, with the limits of a file. Counts in Redis where --redis says so, else in memory.",
    )
    .option('--config <path>', 'the file of limits, or a folder of them; read again when it changes')
    .option('--check', 'print what is wrong in the configuration, and end')
    .addOption(new Option('--grpc <address>', "Envoy's rate limit service (default: 8081)"))
    .addOption(new Option('--http <address>', '/auth, /json, /v1, /metrics (default: 8080)'))
    .addOption(new Option('--sentinel <address>', "Sentinel's token clients (default: off)"))
    .addOption(new Option('--admin <address>', "the operators' page, /stats (default: 6070)"))
    .option('--workers <number>', 'processes that share the listeners; above 1 they need --redis', '1')
    .addOption(
      new Option(
        '--token <text>',
        'what callers beyond the loopback send to refund, reset, block and read metrics',
      ).env('SLUICE_TOKEN'),
    )
    .option(
      '--host-name <name>',
      'a name by which clients on this machine call the loopback; may be repeated',
      (name: string, names: readonly string[] | undefined) => [...(names ?? []), name],
    )
    .option('--tls-cert <path>', 'the certificate of the listeners, as PEM')
    .option('--tls-key <path>', 'its key')
    .option('--tls-client-ca <path>', 'the authorities of clients, which then need a certificate')
    .option('--tls-listeners <names>', 'which listeners have TLS (default: grpc,http)')
    .option('--timeout <duration>', 'the longest wait for Redis (default: 15ms)')
    .option('--max-connection-age <duration>', 'the longest life of a gRPC connection; 0 is without end (default: 1d)')
    .option('--max-in-flight <number>', 'requests at once, of each listener and process (default: 1024)')
    .option('--drain <duration>', 'how long running requests may then take (default: 10s)')
    .option('--shutdown-delay <duration>', 'how long all is served after SIGTERM while health says NOT_SERVING', '2s')
    .option('--merge-domains', 'several files may have rules of one domain')
    .option('--app <name>', 'the name of this service on the lists of managed policies (default: sluice-server)')
    .addHelpText(
      'after',
      `\nAn address is ${ADDRESS}; a port alone is that of the loopback.\nSIGTERM drains, SIGINT does so without a delay, SIGHUP reads the configuration.\nOther users of the machine see --token: prefer SLUICE_TOKEN.\nIf a flag is missing, the environment of envoyproxy/ratelimit (RUNTIME_ROOT, REDIS_URL, ...)\nis read: ${SITE}/reference/service.`,
    )
    .action(async (flags: ServeFlags, command: Command) => {
      await serve(await readServeOptions(flags, command));
    });
}
