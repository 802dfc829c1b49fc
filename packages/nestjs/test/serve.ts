import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Module, type INestApplication, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { newClient, useClosing, type HttpClient } from '@sluice/testkit';

export type Platform = 'Express' | 'Fastify';
export const platforms: readonly Platform[] = ['Express', 'Fastify'];

/** The root module of an application. */
export type RootModule = ModuleMetadata;

/** What can be asked of a NestJS application before it listens. */
interface Prepared {
  /** Trust X-Forwarded-For from 127.0.0.1. */
  readonly trustLoopback?: boolean;
  /** Speak HTTP/2, without TLS. Fastify alone can. */
  readonly http2?: boolean;
  readonly prepare?: (app: INestApplication) => unknown;
}

export interface Served extends HttpClient {
  readonly app: INestApplication;
  readonly close: () => Promise<void>;
}

/** A NestJS application on a real port of 127.0.0.1. */
export async function serve(
  platform: Platform,
  metadata: RootModule,
  { trustLoopback = false, http2 = false, prepare }: Prepared = {},
): Promise<Served> {
  // eslint-disable-next-line @typescript-eslint/no-extraneous-class -- as modules of Nest are
  class Root {}
  Module(metadata)(Root);
  const express = new ExpressAdapter();
  if (trustLoopback) express.set('trust proxy', 'loopback');
  const adapter =
    platform === 'Express'
      ? express
      : new FastifyAdapter({
          trustProxy: trustLoopback && '127.0.0.1',
          ...(http2 && { http2 }),
        } as object);
  // Else Nest would end the process with a start that fails.
  const settings = { logger: false, abortOnError: false } as const;
  const app = await NestFactory.create<INestApplication<Server>>(Root, adapter, settings);
  prepare?.(app);
  try {
    await app.listen(0, '127.0.0.1');
  } catch (error) {
    await app.close();
    throw error;
  }
  const server = app.getHttpServer();
  return {
    ...newClient((server.address() as AddressInfo).port),
    app,
    async close() {
      // Of HTTP/1; those of HTTP/2 Fastify ends by itself.
      (server as Partial<Server>).closeAllConnections?.();
      await app.close();
    },
  };
}

/** {@link serve}, until the test ends. */
export function untilTestEnds(): typeof serve {
  const closing = useClosing();
  return async (...args) => closing(await serve(...args));
}
