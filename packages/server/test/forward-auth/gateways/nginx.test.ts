import { describeGateway } from './describe-gateway.ts';
import { changed, configurationFile } from './gateway-target.ts';

/** What the package of Debian has around a file of conf.d, for a process of the test. */
const around = `
daemon off;
master_process off;
pid nginx.pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;
  include sluice.conf;
}
`;

describeGateway({
  name: 'nginx',
  program: 'nginx',
  args: (folder) => ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'],
  files: (ports, { failsClosed, isPatient }) => ({
    'nginx.conf': around,
    'sluice.conf': changed(configurationFile('sluice.conf', ports), [
      ...(failsClosed === true ? [['    error_page 502 504 = @sluice_absent;\n', ''] as const] : []),
      ...(isPatient === true ? [['250ms', '60s'] as const, ['500ms', '60s'] as const] : []),
    ]),
  }),
  passesBody: false,
  statusClosed: 503,
});
