/** The task of nginx: to balance over the gateways. */
export interface Balancing {
  /** Port of the loopback to listen on. */
  readonly port: number;
  readonly gateways: readonly {
    /** As `127.0.0.1:3000`. */
    readonly address: string;
    /** The share of this gateway in the sum of all weights. */
    readonly weight: number;
  }[];
}

/** The configuration of an nginx that runs in the foreground, in a folder of its own, without any rights. */
export function nginxConf({ port, gateways }: Balancing): string {
  const servers = gateways.map(
    ({ address, weight }) => `server ${address} weight=${String(weight)} max_fails=1 fail_timeout=1s;`,
  );
  // When root starts it, its worker would be a user without write access to the folder.
  const user = process.getuid?.() === 0 ? 'user root;\n' : '';
  return `${user}daemon off;
pid nginx.pid;
error_log stderr error;
worker_processes 1;

events {
  worker_connections 1024;
}

http {
  access_log off;
  client_body_temp_path body;
  proxy_temp_path proxy;
  fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi;
  scgi_temp_path scgi;

  upstream gateways {
    # One rotation for all workers: without a zone each worker has its own.
    zone gateways 64k;
    ${servers.join('\n    ')}
    keepalive 64;
  }

  server {
    listen 127.0.0.1:${String(port)};

    location / {
      proxy_pass http://gateways;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $http_host;
      # Not appended: what the client wrote into it is gone.
      proxy_set_header X-Forwarded-For $remote_addr;

      # A gateway that is gone: the request goes to the next one, unless it is one that must not be done twice.
      proxy_connect_timeout 1s;
      proxy_next_upstream error timeout;
      proxy_next_upstream_tries ${String(Math.max(gateways.length, 2))};
      # After this time not: a slow service is not asked a second time.
      proxy_next_upstream_timeout 2s;
    }
  }
}
`;
}
