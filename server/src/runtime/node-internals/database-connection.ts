// Two functions that pg does not offer: close a connection at once, and wait for a reply that costs the server no
// transaction.
//
// Relies on, in pg 8: `connection.stream.destroy` of a client; `connection.sync`, in a query that submits itself.
// Without this feature: `end`, which notifies the server and waits for its reply, and the shortest query.

import type pg from 'pg';
import { expect, isFeatureWorking } from './features.ts';

interface Inside {
  readonly connection: { readonly stream: { destroy(): void }; sync(): void };
}

/** Closes the connection at once, without a message to the server, which may not respond any more. */
export function destroyConnection(client: pg.ClientBase): void {
  if (isFeatureWorking('databaseConnection')) (client as unknown as Inside).connection.stream.destroy();
  else void (client as pg.Client).end().catch(() => {});
}

/** Waits for a reply of the server to a Sync message, for which it runs no transaction, unlike for any query. */
export async function pingServer(client: pg.ClientBase): Promise<void> {
  if (!isFeatureWorking('databaseConnection')) {
    await client.query('');
    return;
  }
  await new Promise<void>((resolve, reject) => {
    client.query({
      submit: (connection: pg.Connection) => (connection as unknown as Inside['connection']).sync(),
      handleReadyForQuery: () => resolve(),
      handleError: reject,
    });
  });
}

/** Tests with a client that is not connected. */
export function testDatabaseConnection(client: object): void {
  const { connection } = client as Partial<Inside>;
  expect(typeof connection?.stream?.destroy === 'function', 'a client of pg does not say which socket it has');
  expect(typeof connection.sync === 'function', 'a connection of pg has no sync');
}
