export { createServer, type RunningServer } from './create-server.ts';
export { ConfigurationError } from './config/configuration-error.ts';
export { readEnvironment, type EnvironmentOptions } from './environment/environment.ts';
export type { ListenerName, ListenerOption, ServerOptions, TlsListenerName, TlsOptions } from './options.ts';
