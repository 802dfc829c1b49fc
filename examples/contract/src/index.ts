export { describeExample } from './describe-example.ts';
export { startBehindProxy, type ExampleBehindProxy } from './behind-proxy.ts';
