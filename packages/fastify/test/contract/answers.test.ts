import { describeAdapter } from '@sluice/testkit';
import { fastify5 } from '../target.ts';

describeAdapter(fastify5, ['answers']);
