// The sample project that the examples test: a shop that charges an order in the background. The bank is asked again when
// it fails, and when all retries are used up the order is given up.

import { once } from 'node:events';
import { createServer } from 'node:http';

/** Starts the shop on a free port. `postrider` has the `url` and the `token` of the service. */
export async function startShop(postrider) {
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
    const answer = await fetch(`${postrider.url}/v2/publish/${shop.url}/charge/${id}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${postrider.token}`,
        'Service-Delay': '10m',
        'Service-Retries': '3',
        'Service-Failure-Callback': `${shop.url}/charge-failed/${id}`,
      },
      body: id,
    });
    return (await answer.json()).messageId;
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
