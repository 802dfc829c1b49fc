import { describeAdapter } from '@sluice/testkit';
import { remoteAdapter } from './remote-adapter.ts';

describeAdapter(remoteAdapter(), 'answers');
