import { describeGateway } from './describe-gateway.ts';
import { changed, configurationFile } from './gateway-target.ts';

const OPEN = `	handle_errors {
		@absent not vars sluice answered
		handle @absent {
			import app
		}
	}
`;

describeGateway({
  name: 'Caddy',
  program: 'caddy',
  args: (folder) => ['run', '--config', `${folder}/Caddyfile`, '--adapter', 'caddyfile'],
  files: (ports, { failsClosed, isPatient }) => ({
    Caddyfile: changed(configurationFile('Caddyfile', ports), [
      ...(failsClosed === true ? [[OPEN, ''] as const] : []),
      ...(isPatient === true ? [['250ms', '60s'] as const, ['500ms', '60s'] as const] : []),
    ]),
  }),
  passesBody: true,
  statusClosed: 502,
});
