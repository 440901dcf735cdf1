// `postrider keys` and `postrider usage`: the signing keys of the account, and what it has used.

import type { Invocation } from '../../frame/command.ts';
import { confirm } from '../../frame/confirm.ts';
import { EXIT } from '../../frame/exit-codes.ts';

export async function showKeys({ out, connect }: Invocation): Promise<number> {
  const keys = await connect().client.getKeys();
  if (out.isJson) out.json(keys);
  else {
    out.facts([
      ['current', keys.current],
      ['next', keys.next],
    ]);
    out.note('Anyone who has these keys can sign requests as this service does. A receiver accepts both keys.');
  }
  return EXIT.done;
}

export async function rotateKeys(invocation: Invocation): Promise<number> {
  const { out, connect } = invocation;
  const { client } = connect();
  await confirm(
    invocation,
    'Make the next signing key the current one? Receivers that do not know it refuse deliveries from now on.',
  );
  const keys = await client.rotateKeys();
  if (out.isJson) out.json(keys);
  else {
    out.facts([
      ['current', keys.current],
      ['next', keys.next],
    ]);
    out.note('Give the new next key to the receivers before you rotate again.');
  }
  return EXIT.done;
}

export async function usage({ given, out, connect }: Invocation): Promise<number> {
  const [fromDay, toDay] = [given.text('from-day'), given.text('to-day')];
  const answer = await connect().client.usage({
    ...(fromDay !== undefined && { fromDay }),
    ...(toDay !== undefined && { toDay }),
  });
  if (out.isJson) {
    out.json(answer);
    return EXIT.done;
  }
  const kinds = [...new Set(answer.usage.map(({ kind }) => kind))].sort();
  const days = [...new Set(answer.usage.map(({ day }) => day))].sort();
  if (days.length === 0) {
    out.note(`Nothing was used from ${answer.fromDay} to ${answer.toDay}.`);
    return EXIT.done;
  }
  const counts = new Map(answer.usage.map(({ day, kind, count }) => [`${day} ${kind}`, count]));
  const cell = (day: string, kind: string) => String(counts.get(`${day} ${kind}`) ?? 0);
  const total = kinds.map((kind) => String(days.reduce((sum, day) => sum + Number(cell(day, kind)), 0)));
  out.table(
    [{ title: 'DAY (UTC)' }, ...kinds.map((kind) => ({ title: kind.toUpperCase(), isNumber: true }))],
    [...days.map((day) => [day, ...kinds.map((kind) => cell(day, kind))]), ['all', ...total]],
  );
  return EXIT.done;
}
