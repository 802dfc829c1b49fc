import { describeAdapter } from '@sluice/testkit';
import { fastify5 } from '../adapter.ts';

describeAdapter(fastify5, 'answers');
