export { createServer, type RunningServer } from './create-server.ts';
export { ConfigurationError } from './config/configuration-error.ts';
export type { ListenerName, ListenerOption, ServerOptions, TlsOptions } from './options.ts';
