// The contract of adapters, with what its author has installed by hand.
import * as runner from '@jest/globals';
import { describeAdapter } from '@sluice/testing/adapter';
import { target } from './adapter-target.mjs';

describeAdapter(target, { parts: ['answers'] }, runner);
