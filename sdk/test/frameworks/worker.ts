// A Cloudflare Worker that receives deliveries.

import { receive } from 'postrider-sdk/workers';
import { handle } from './handler.ts';

interface Env {
  readonly KEYS: string;
}

export default {
  fetch: receive<Env>((_request, env) => ({ keys: env.KEYS.split(','), bodyBytesMax: 100_000 }), handle),
};
