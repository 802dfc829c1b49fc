import { describeAdapter, processTarget, runtimes } from '@sluice/testkit';
import { withoutHttp2 } from '@sluice/testkit/target';
import { ofBun, ofDeno, ofFetchHandlers, ofHono } from '../impossible.ts';

const program = new URL('target-program.ts', import.meta.url);
const HTTP2 = withoutHttp2('its server speaks no HTTP/2 without TLS');

for (const { name, commandOf } of runtimes()) {
  const impossible = { ...ofFetchHandlers, ...HTTP2, ...(name === 'Bun' ? ofBun : ofDeno) };
  describeAdapter(processTarget({ name: `fetch handlers on ${name}`, command: commandOf(program, 'web'), impossible }));
  // Hono on Deno is the same middleware on the same server.
  if (name !== 'Bun') continue;
  describeAdapter(
    processTarget({
      name: 'Hono on Bun',
      command: commandOf(program, 'hono'),
      impossible: { ...impossible, ...ofHono },
    }),
  );
}
