import { describeGateway } from './describe-gateway.ts';
import { caddy } from './caddy.ts';

describeGateway(caddy);
