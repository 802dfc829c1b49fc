import type { GatewayTarget } from './gateway-target.ts';
export function failures(_target: GatewayTarget): void {}
