// The process of a web server that is measured.
import { cpuUs } from './in-turn.mjs';

export async function open({ framework, ...settings }) {
  const { serve } = await import(`./servers/${framework}.mjs`);
  const port = await serve(settings);
  return { about: () => ({ port }), usage: () => ({ cpuUs: cpuUs() }) };
}
