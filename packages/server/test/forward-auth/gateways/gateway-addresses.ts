import type { GatewayTarget } from './gateway-target.ts';
export function addresses(_target: GatewayTarget): void {}
