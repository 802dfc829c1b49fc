import { describeAdapter } from '@sluice/testkit/contract';
import { fastify5 } from '../adapter.ts';

describeAdapter(fastify5);
