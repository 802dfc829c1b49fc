import { Inject, Injectable, UnauthorizedException, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { NestRequest } from '@sluice/nestjs';
import { userOf, type User } from './accounts.ts';

export interface AppRequest extends NestRequest {
  user?: User;
}

/** A handler that needs no login. */
export const Public: () => MethodDecorator = () => IsPublic(true);
const IsPublic = Reflector.createDecorator<boolean>();

/** Identifies the user. */
@Injectable()
export class AuthGuard implements CanActivate {
  readonly #reflector: Reflector;

  constructor(@Inject(Reflector) reflector: Reflector) {
    this.#reflector = reflector;
  }

  canActivate(context: ExecutionContext): boolean {
    if (this.#reflector.get(IsPublic, context.getHandler())) return true;
    const request = context.switchToHttp().getRequest<AppRequest>();
    const user = userOf(request.headers.authorization);
    if (user === undefined) throw new UnauthorizedException('log in first');
    request.user = user;
    return true;
  }
}
