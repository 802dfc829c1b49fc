import { describeAdapter } from '@sluice/testkit/contract';
import { remoteAdapter } from './remote-adapter.ts';

describeAdapter(remoteAdapter(), 'waiting');
