// The same request as program code.

import { type Call, headersOf } from 'postrider-sdk';
import type { Draft } from '../parts/publish-again.ts';

const text = (value: string) => JSON.stringify(value);

const fromEnvironment = (token: string | null, otherwise: string) => (token === null ? otherwise : text(token));

export function typescriptSnippet(
  { mode, destination, queue, contentType, body, settings }: Draft,
  baseUrl: string,
  prefix: string,
  token: string | null,
): string {
  const named = settings.filter(([name, value]) => name !== '' && value !== '');
  const lines = [
    `  destination: ${text(destination)},`,
    ...(contentType !== '' ? [`  contentType: ${text(contentType)},`] : []),
    ...(body !== '' ? [`  body: ${text(body)},`] : []),
    ...(named.length > 0
      ? ['  settings: {', ...named.map(([name, value]) => `    ${text(name)}: ${text(value)},`), '  },']
      : []),
  ];
  const call =
    mode === 'enqueue' ? `queue(${text(queue)}).enqueue({` : mode === 'schedule' ? 'schedules.create({' : 'publish({';
  const options = [
    `baseUrl: ${text(baseUrl)}`,
    `token: ${fromEnvironment(token, 'process.env.TOKEN')}`,
    ...(prefix === 'Service-' ? [] : [`headerPrefix: ${text(prefix)}`]),
  ];
  return [
    `import { Postrider } from 'postrider-sdk';`,
    '',
    `const postrider = new Postrider({ ${options.join(', ')} });`,
    `await postrider.${call}`,
    ...lines,
    '});',
  ].join('\n');
}

export function pythonSnippet(call: Call<unknown>, baseUrl: string, prefix: string, token: string | null): string {
  const headers = Object.entries(headersOf(call, prefix));
  return [
    'import os, requests',
    '',
    'answer = requests.post(',
    `    ${text(baseUrl + call.path)},`,
    '    headers={',
    `        "Authorization": ${token === null ? `f"Bearer {os.environ['TOKEN']}"` : text(`Bearer ${token}`)},`,
    ...headers.map(([name, value]) => `        ${text(name)}: ${text(value)},`),
    '    },',
    ...(typeof call.body === 'string' && call.body !== '' ? [`    data=${text(call.body)}.encode(),`] : []),
    ')',
    'answer.raise_for_status()',
    'print(answer.json())',
  ].join('\n');
}
