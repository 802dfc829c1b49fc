export { memory, realRedis, type ClockedStores } from './clocked-stores.ts';
export { ipv4Spellings, ipv6Spellings, spellingsOf } from './spellings.ts';
export { describeStore, type StoreFactory } from '@sluice/old-testing';
export { fakeClock, type FakeClock } from './fake-clock.ts';
export { cases, depth, type Depth } from './depth.ts';
export { describePolicySource, type PolicyServer } from './describe-policy-source.ts';
export { describeExample, ExampleClient } from './describe-example.ts';
export { ExampleProcess } from './example-process.ts';
export { expectWarnings } from './expect-warnings.ts';
export { seeded, testSeed, type Random } from './random.ts';
export { exchange, listen, open, received, statuses, type Listening } from './raw-http.ts';
export { startRedisCluster, type RedisCluster } from './redis-cluster.ts';
export { freePort } from './free-port.ts';
export { startRedis, type RedisServer } from './redis-server.ts';
export { PRODUCTION_LINE, TEST_LINE, testGeneral, virtualRedisStore } from './virtual-redis.ts';
export { onNodes } from './on-nodes.ts';
export { runtimes, type Runtime } from './runtimes.ts';
export { useRedis, type RunningRedis } from './use-redis.ts';
export { ClusterAdmin } from './cluster-admin.ts';
export { CONSUL_MANAGEMENT, consulAgents, type ConsulAgentUnderTest } from './consul/consul-server.ts';
export { ConsulStub } from './consul/consul-stub.ts';
export { consulTrace, type TracedExchange } from './consul/consul-trace.ts';
export { connectTo, type ConnectOptions } from './connect-to.ts';
export { leastPrivilege, STORE_USER, type LeastPrivilege } from './least-privilege.ts';
export { type RedisClusterOptions } from './redis-cluster.ts';
export { type RedisServerOptions, type RestartOptions } from './redis-server.ts';
export { startSentinel, type RedisSentinel, type RedisSentinelOptions } from './redis-sentinel.ts';
export { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';
export { tlsFixture } from './tls-fixture.ts';
export { closing, describeSetUps, limiterForSetUp, type SetUp } from './describe-set-ups.ts';
export { isFreedAfter } from './freed.ts';
export { take } from './take.ts';
export { changingPolicy, type ChangingPolicy } from '@sluice/old-testing/internal';
export { until } from './until.ts';
export { withoutFastPath } from './without-fast-path.ts';
export {
  describeRedisClient,
  type AnyClient,
  type Endpoint,
  type RedisClientTarget,
  type TestClient,
} from './describe-redis-client/describe-redis-client.ts';
export { cutReplication } from './replication.ts';
export { startDeafRelay, type DeafRelay } from './describe-redis-client/deaf-relay.ts';
export {
  type TestRequest,
  TestResponse,
  type TestOptions,
  type TestPlan,
  testFramework,
  testEnforcer,
  lines,
} from './test-framework.ts';
export { type WatchedStore, nextTurn, watched } from './watched-store.ts';
export { type Admission, mostPerWindow, mostPerInterval, mostBeyondRefill } from './simulation/bounds.ts';
export { Machine } from './simulation/machine.ts';
export { VirtualTime } from './simulation/virtual-time.ts';
