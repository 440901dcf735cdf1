// The request of the screen as program code.

import { type Call, headersOf } from 'postrider-sdk';
import { type Draft, settingsOf } from '../parts/publish-again.ts';

const text = (value: string) => JSON.stringify(value);

function base64(bytes: Uint8Array): string {
  let characters = '';
  for (const byte of bytes) characters += String.fromCharCode(byte);
  return text(btoa(characters));
}

/**
 * The body in TypeScript. Without a content type it is given as bytes, because the runtime would add a type to a text.
 */
function typescriptBody({ contentType, body, binary }: Draft): string {
  if (binary !== null) return `Buffer.from(${base64(binary)}, 'base64')`;
  return contentType === '' ? `Buffer.from(${text(body)})` : text(body);
}

const fromEnvironment = (token: string | null, otherwise: string) => (token === null ? otherwise : text(token));

export function typescriptSnippet(draft: Draft, baseUrl: string, prefix: string, token: string | null): string {
  const { mode, destination, queue, contentType, body, binary } = draft;
  const named = Object.entries(settingsOf(draft));
  const lines = [
    `  destination: ${text(destination)},`,
    ...(contentType !== '' ? [`  contentType: ${text(contentType)},`] : []),
    ...(binary !== null || body !== '' ? [`  body: ${typescriptBody(draft)},`] : []),
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
  const data = pythonData(call.body ?? '');
  return [
    `import ${data.startsWith('base64') ? 'base64, ' : ''}os, requests`,
    '',
    'response = requests.post(',
    `    ${text(baseUrl + call.path)},`,
    '    headers={',
    `        "Authorization": ${token === null ? `f"Bearer {os.environ['TOKEN']}"` : text(`Bearer ${token}`)},`,
    ...headers.map(([name, value]) => `        ${text(name)}: ${text(value)},`),
    '    },',
    ...(data === '' ? [] : [`    data=${data},`]),
    ')',
    'response.raise_for_status()',
    'print(response.json())',
  ].join('\n');
}

function pythonData(body: string | Uint8Array): string {
  if (body.length === 0) return '';
  if (typeof body === 'string') return `${text(body)}.encode()`;
  try {
    return `${text(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))}.encode()`;
  } catch {
    return `base64.b64decode(${base64(body)})`;
  }
}
