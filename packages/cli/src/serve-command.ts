import { SITE } from '@sluice/core/spi';
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
    .option('--check', 'read the configuration, print what is wrong in it, and end')
    .addOption(new Option('--grpc <address>', `Envoy's rate limit service: ${ADDRESS} (default: 8081)`))
    .addOption(new Option('--http <address>', '/auth, /json, /v1, /healthcheck, /metrics (default: 8080)'))
    .addOption(new Option('--native <address>', 'frames for remoteStore (default: off)'))
    .addOption(new Option('--sentinel <address>', "Sentinel's token clients, whose own port is 18730 (default: off)"))
    .addOption(new Option('--admin <address>', "the operators' page at /, /rlconfig, /stats, /metrics (default: 6070)"))
    .option('--workers <number>', 'processes that share the listeners; above 1 they need --redis', '1')
    .addOption(
      new Option(
        '--token <text>',
        'what callers send to refund, reset, block and read metrics where a listener is not of the loopback; other users of the machine see arguments, so prefer the variable',
      ).env('SLUICE_TOKEN'),
    )
    .option(
      '--host-name <name>',
      'a name of this machine by which clients on it call listeners of the loopback; may be given several times',
      (name: string, names: readonly string[] | undefined) => [...(names ?? []), name],
    )
    .option('--tls-cert <path>', 'the certificate of the listeners, in PEM form')
    .option('--tls-key <path>', 'its key')
    .option('--tls-client-ca <path>', 'the authorities of clients: those without a certificate are not served')
    .option('--tls-listeners <names>', 'which listeners have TLS, separated by commas (default: grpc,http,native)')
    .option('--timeout <duration>', 'the longest wait for Redis (default: 15ms)')
    .option('--max-connection-age <duration>', 'how old a connection of gRPC gets; 0 is without end (default: 1d)')
    .option('--max-in-flight <number>', 'requests at once, of each listener and process (default: 1024)')
    .option('--drain <duration>', 'how long requests that run may take after that (default: 10s)')
    .option('--shutdown-delay <duration>', 'how long all is served after SIGTERM while health says NOT_SERVING', '2s')
    .option('--merge-domains', 'several files may have rules of one domain')
    .option('--app <name>', 'the name of this service on the lists of managed policies (default: sluice-server)')
    .addHelpText(
      'after',
      `\nA port alone is that of the loopback. SIGTERM drains, SIGINT does so without a delay, SIGHUP reads the configuration. Where no flag\nis given, the environment of envoyproxy/ratelimit (RUNTIME_ROOT, REDIS_URL, ...) is read: ${SITE}/reference/service.`,
    )
    .action(async (flags: ServeFlags, command: Command) => {
      await serve(await readServeOptions(flags, command));
    });
}
