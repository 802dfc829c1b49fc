export { describeExample } from './describe-example.ts';
export { ExampleProcess } from './example-process.ts';
export { startBehindProxy, type ExampleBehindProxy } from './behind-proxy.ts';
