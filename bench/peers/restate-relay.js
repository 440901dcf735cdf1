// A Restate service with one handler, which makes the request. node restate-relay.js

import { createServer } from 'node:http2';
import { createEndpointHandler, service } from '@restatedev/restate-sdk';
import { deliver } from './front.js';

const relay = service({
  name: 'relay',
  handlers: {
    deliver: async (context, message) => {
      await context.run(() => deliver(message));
    },
  },
});
const server = createServer(createEndpointHandler({ services: [relay] }));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${JSON.stringify({ port: server.address().port })}\n`);
});
