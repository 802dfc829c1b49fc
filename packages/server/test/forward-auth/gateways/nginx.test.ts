import { describeGateway } from './describe-gateway.ts';
import { nginx } from './nginx.ts';

describeGateway(nginx);
