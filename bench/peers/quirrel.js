// Quirrel on Redis: its own server, without its log and its limit of 10,000 requests a minute. node quirrel.js <redis port> <port>

import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const require = createRequire(import.meta.url);
// Past the package's list of exports, which has the clients only.
const api = fileURLToPath(new URL('./node_modules/quirrel/dist/cjs/src/api/', import.meta.url));
const { runQuirrel } = require(`${api}index.js`);
const { createRedisFactory } = require(`${api}shared/create-redis.js`);

const port = Number(process.argv[3]);
await runQuirrel({
  port,
  host: '127.0.0.1',
  redisFactory: createRedisFactory(`redis://127.0.0.1:${process.argv[2]}`),
  disableTelemetry: true,
  logger: 'none',
  rateLimiter: { max: Number.MAX_SAFE_INTEGER },
});
process.stdout.write(`${JSON.stringify({ api: `http://127.0.0.1:${port}` })}\n`);
