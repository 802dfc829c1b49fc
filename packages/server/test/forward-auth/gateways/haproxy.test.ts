import { describeGateway } from './describe-gateway.ts';
import { changed, configurationFile } from './gateway-target.ts';

const CLOSED = 'http-request return status 503 if { var(txn.sluice_absent) -m bool }';

describeGateway({
  name: 'HAProxy',
  program: 'haproxy',
  args: () => ['-db', '-f', 'haproxy.cfg'],
  files: (ports, { failsClosed, isPatient }) => {
    // Each process of the test has a name of its own for what connects HAProxy with itself.
    const between = ['abns@sluice', `abns@sluice-${String(ports.gateway)}`] as const;
    return {
      'haproxy.cfg': changed(configurationFile('haproxy.cfg', ports), [
        between,
        ...(failsClosed === true ? [[`# ${CLOSED}`, CLOSED] as const] : []),
        ...(isPatient === true
          ? [['500ms', '60s'] as const, ['timeout client 2s', 'timeout client 60s'] as const]
          : []),
      ]),
      'sluice.lua': changed(configurationFile('sluice.lua', ports), [
        between,
        ...(isPatient === true ? [['TIMEOUT_MS = 1500', 'TIMEOUT_MS = 60000'] as const] : []),
      ]),
    };
  },
  passesBody: true,
  statusClosed: 503,
});
