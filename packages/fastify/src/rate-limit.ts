import { limitMethods, type MethodDecorator } from '@sluice/core/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { framework } from './framework.ts';
import type { RateLimitOptions } from './options.ts';

/**
 * Limits a handler method `(request, reply)` of a class. The limiter is named `<Class>.<method>`, unless the options
 * have a name. Works as a standard decorator and with `experimentalDecorators`. Decides when the handler is called,
 * after all hooks.
 *
 * @throws PolicyError for bad or unknown options, when the class is defined or first instantiated.
 */
export function RateLimit(options: RateLimitOptions): MethodDecorator {
  return limitMethods(options, framework, (args) => {
    const [request, response] = args as [FastifyRequest, FastifyReply];
    // A handler that returns its reply has sent the response, or never will, because the client left.
    return { request, response, denied: response };
  });
}
