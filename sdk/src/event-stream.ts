// Reads Server-Sent Events from a body, chunk by chunk, wherever the chunks are cut.

import type { MessageEvent } from './shapes.ts';

export interface StreamedEvent {
  /** To continue after it when the connection broke. */
  readonly id: string;
  readonly event: MessageEvent;
}

export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamedEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let waiting = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      waiting += decoder.decode(value, { stream: true });
      const blocks = waiting.split('\n\n');
      waiting = blocks.pop()!;
      for (const block of blocks) {
        const event = parseBlock(block);
        if (event) yield event;
      }
    }
  } finally {
    // When the reader stops, the connection is released as well.
    await reader.cancel().catch(() => {});
  }
}

function parseBlock(block: string): StreamedEvent | null {
  let id = '';
  let data = '';
  for (const line of block.split('\n')) {
    if (line.startsWith('id: ')) id = line.slice(4);
    else if (line.startsWith('data: ')) data += line.slice(6);
  }
  return data === '' ? null : { id, event: JSON.parse(data) as MessageEvent };
}
