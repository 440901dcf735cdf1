// What every adapter must do in its framework: with real deliveries of a real service, and with requests that are none.

import assert from 'node:assert/strict';
import { Postrider } from 'postrider-sdk';
import type { Service } from '../../../console/test/service.ts';

/** A receiver at /hook that has started. */
export interface Started {
  readonly url: string;
  close(): Promise<unknown>;
}
export type Keys = readonly string[];
/** What starts each framework, by its name. */
export type Programs = Readonly<Record<string, (keys: Keys) => Promise<Started>>>;

const BYTES = new Uint8Array([0, 255, 13, 10, 123]);

export async function checkReceiver(
  service: Service,
  name: string,
  start: (keys: Keys) => Promise<Started>,
): Promise<void> {
  const postrider = new Postrider({ baseUrl: service.url, token: service.token });
  const { current, next } = await postrider.account.keys();
  const program = await start([next, current]);
  try {
    const { url } = program;
    const deliver = async (body: string | Uint8Array, contentType?: string) => {
      const { messageId } = await postrider.publish({ url, body, contentType, retries: 0, label: name });
      const { state, attempts } = await postrider.waitFor(messageId);
      const { responseStatus, responseBody = '', responseHeader } = attempts[0]!;
      return { messageId, state, responseStatus, responseBody, responseHeader };
    };

    const binary = await deliver(BYTES, 'application/octet-stream');
    assert.equal(binary.responseStatus, 202, binary.responseBody);
    const { messageId, retried, bytes } = JSON.parse(binary.responseBody) as Record<string, unknown>;
    assert.deepEqual([messageId, retried, bytes], [binary.messageId, 0, [...BYTES]]);
    const json = await deliver('{"a": 1,  "b": "\\u00fc"}', 'application/json');
    assert.equal(json.responseStatus, 202, 'not parsed and written again');
    const [empty, bare] = [await deliver(''), await deliver(new Uint8Array([1]))];
    assert.deepEqual([empty.responseStatus, bare.responseStatus], [202, 202]);
    assert.deepEqual([(await deliver('nothing')).state], ['DELIVERED']);
    assert.equal((await deliver('fail')).responseStatus, 500);
    const { responseStatus, responseBody } = await deliver('no retry');
    assert.deepEqual([responseStatus, responseBody], [489, 'there is no such customer']);
    const later = await deliver('later');
    assert.deepEqual([later.responseStatus, later.responseHeader?.['Retry-After']], [503, ['5400']]);
    await checkRefusals(url);
  } finally {
    await program.close();
  }
}

async function checkRefusals(url: string): Promise<void> {
  const forged = await fetch(url, { method: 'POST', body: 'forged' });
  assert.deepEqual([forged.status, await forged.text()], [401, 'the request is not signed']);
  const signature = 'eyJhbGciOiJub25lIn0.eyJleHAiOjk5OTk5OTk5OTl9.AAAA';
  const none = await fetch(url, { method: 'POST', body: 'x', headers: { 'Service-Signature': signature } });
  assert.equal(none.status, 401);
  const large = await fetch(url, { method: 'POST', body: 'x'.repeat(100_001) });
  assert.equal(large.status, 413, await large.text());
}
