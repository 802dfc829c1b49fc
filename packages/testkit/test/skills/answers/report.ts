import { rateLimit } from '@sluice/express';
import express, { type Express } from 'express';

export function createApp(wouldDeny: (key: string) => void): Express {
  const app = express();
  app.use(
    rateLimit({
      limit: 1,
      window: '1m',
      mode: 'report',
      onDecision: ({ allowed }, { key }) => {
        if (!allowed && typeof key === 'string') wouldDeny(key);
      },
    }),
  );
  app.get('/', (_request, response) => {
    response.send('good');
  });
  return app;
}
