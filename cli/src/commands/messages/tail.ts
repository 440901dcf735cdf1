// `postrider tail`: events as they happen, until Ctrl-C.

import type { Invocation } from '../../frame/command.ts';
import { interruptedExit } from '../../frame/exit-codes.ts';
import { eventText } from './event-text.ts';
import { filterOf, serviceTimeFor } from './filter.ts';
import { follow } from './follow.ts';

export async function tail({ given, out, io, connect }: Invocation): Promise<number> {
  const { client, url } = connect();
  const from = given.time('since', await serviceTimeFor(given, client, 'since'));
  const { state, ...filter } = await filterOf(given, client);
  const events = follow(
    client,
    { ...filter, ...(state && { state }), ...(given.has('message') && { messageIds: given.list('message') }) },
    {
      signal: io.interrupted,
      clock: io.world.clock,
      ...(from !== undefined && { from }),
      onOpen: () => out.note(`Events of ${url}, as they happen. Ctrl-C ends it.`),
      onLost: (why) =>
        out.note(`The connection is lost (${why}). Trying again; events continue after the last one shown.`),
      onBack: () => out.note('The connection is back.'),
    },
  );
  for await (const event of events) {
    if (out.isJson) await out.record(event);
    else await out.streamed(eventText(event, out));
  }
  return interruptedExit(io.interrupted);
}
