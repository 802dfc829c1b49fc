import * as runner from 'node:test';
import { describeAdapter } from '@sluice/testing/adapter';
import { target } from './target.mjs';

describeAdapter(target, { parts: ['answers'] }, runner);
