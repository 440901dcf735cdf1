// `postrider messages update`: changes a message that waits.

import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { printable } from '../../frame/printable.ts';
import { addGuessedType, jsonBody, readBody, readHeaders } from './body.ts';
import { refuseDuplicateSettings, settingsOf } from './publish.ts';

export async function updateMessage({ given, out, io, connect }: Invocation): Promise<number> {
  const { client, headerPrefix } = connect();
  const own = new Map(Object.entries(readHeaders(given.list('header'), headerPrefix)));
  const settings = settingsOf(given);
  refuseDuplicateSettings(own, settings, headerPrefix);
  const url = given.text('new-url');
  const body = await readBody(given.text('data'), io);
  addGuessedType(own, body);
  const named = Object.entries(settings).map(([name, value]) => [headerPrefix + name, value as string] as const);
  const headers = { ...Object.fromEntries(own), ...Object.fromEntries(named) };
  const change = {
    ...(url !== undefined && { url }),
    ...(body !== undefined && jsonBody(body)),
    ...(Object.keys(headers).length > 0 && { headers }),
  };
  if (Object.keys(change).length === 0) {
    throw new Failure('there is nothing to change', {
      exit: EXIT.usage,
      hint: 'Nothing was sent. Give a flag such as --delay, --new-url or --data.',
    });
  }
  const ifMatch = given.text('if-version');
  const answer = await client.updateMessage(given.words[0]!, { ...change, ...(ifMatch !== undefined && { ifMatch }) });
  const id = printable(given.words[0]!);
  out.result(answer, `${id}  is changed; its version is ${printable(answer.version)}`);
  return EXIT.done;
}
