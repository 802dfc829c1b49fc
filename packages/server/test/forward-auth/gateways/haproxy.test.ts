import { describeGateway } from './describe-gateway.ts';
import { haproxy } from './haproxy.ts';

describeGateway(haproxy);
