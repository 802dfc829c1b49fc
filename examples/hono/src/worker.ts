import { fromCloudflare, memoryStore } from '@sluice/web/hono';
import { createApp } from './app.ts';

// Each isolate counts by itself: for limits over all of them give it a store that they share.
export default createApp(fromCloudflare, memoryStore());
