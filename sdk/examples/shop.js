// The sample project that the examples test: a shop that charges an order in the background. The bank is asked again when
// it fails, and when all retries are used up the order is given up.

import { once } from 'node:events';
import { createServer } from 'node:http';

/** Starts the shop on a free port. `client` is a `Postrider` of postrider-sdk. */
export async function startShop(client) {
  const shop = { orders: new Map(), isBankDown: false, asked: 0 };

  const server = createServer(async (request, response) => {
    const [, path, id] = request.url.split('/');
    if (path === 'order') {
      shop.orders.set(id, { state: 'accepted' });
      shop.orders.get(id).messageId = await charge(id);
    } else if (path === 'charge') {
      shop.asked += 1;
      if (!shop.isBankDown) shop.orders.get(id).state = 'charged';
      response.statusCode = shop.isBankDown ? 503 : 200;
    } else if (path === 'charge-failed') {
      shop.orders.get(id).state = 'given up';
    } else {
      response.setHeader('Content-Type', 'text/html');
      for (const [name, { state }] of shop.orders) response.write(`<p id="${name}">${name}: ${state}</p>`);
    }
    response.end();
  });

  /** In ten minutes, so that a customer can still change the order. */
  async function charge(id) {
    const { messageId } = await client.publish({
      url: `${shop.url}/charge/${id}`,
      json: { order: id },
      delay: '10m',
      retries: 3,
      failureCallback: `${shop.url}/charge-failed/${id}`,
    });
    return messageId;
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  shop.url = `http://127.0.0.1:${server.address().port}`;
  shop.order = (id) => fetch(`${shop.url}/order/${id}`, { method: 'POST' });
  shop[Symbol.asyncDispose] = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return shop;
}
