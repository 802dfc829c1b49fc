import { describeAdapter, processTarget, runtimes, withoutHttp2 } from '@sluice/testkit';

const program = new URL('target-program.ts', import.meta.url);

const NO_LATE_ADDRESS = {
  'still has the address of a client that disconnects during skip':
    'sockets of node:http on Bun forget their address when they close, also where it has been read before',
};

for (const { name, commandOf } of runtimes()) {
  const target = processTarget({
    name: `Express 5 on ${name}`,
    command: commandOf(program),
    impossible: {
      ...withoutHttp2('Express speaks no HTTP/2'),
      ...(name === 'Bun' && NO_LATE_ADDRESS),
    },
  });
  describeAdapter(target);
}
