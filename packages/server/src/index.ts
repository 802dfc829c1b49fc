export { createServer, type RunningServer } from './create-server.ts';
export { ConfigurationError } from './config/configuration-error.ts';
export { checkConfiguration, type CheckedConfiguration } from './check-configuration.ts';
export { joinWorkers, type WorkerLink } from './workers/join-workers.ts';
export type { Siblings, StatsReport } from './stats/siblings.ts';
export {
  superviseWorkers,
  WorkerFailed,
  type SupervisedWorkers,
  type SuperviseOptions,
} from './workers/supervise-workers.ts';
export type { CloseOptions, ListenerName, ListenerOption, ServerOptions } from './options.ts';
export type { CertificateFiles } from './transport/certificates.ts';
