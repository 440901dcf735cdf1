// Turns the examples of the SDK into texts: their own code, and the curl command of the request that they send.

import { type Call, curl, Postrider } from 'postrider-sdk';
import { type Example, SDK_EXAMPLES } from './sdk-examples.ts';

/** As in all docs. The page shows the address it was loaded from. */
const BASE = 'http://127.0.0.1:8411';

export async function docsExamples(header: string): Promise<string> {
  const entries: string[] = [];
  for (const [name, example] of Object.entries(SDK_EXAMPLES)) {
    const command = example === null ? `curl ${BASE}${name.split(' ')[1]}` : curlOf(await sentBy(name, example));
    const sdk = example === null ? 'null' : literal(codeOf(example));
    entries.push(
      `  [\n    ${literal(name)},\n    {\n      curl: ${literal(command)},\n      sdk: ${sdk},\n    },\n  ],\n`,
    );
  }
  return `${header}

/** By method and path. Null: the SDK has no method for it. */
export const DOCS_EXAMPLES: ReadonlyMap<string, { readonly curl: string; readonly sdk: string | null }> = new Map([
${entries.join('')}]);
`;
}

function curlOf(call: Call<unknown>): string {
  const text = curl(call, { baseUrl: BASE });
  // The secret in the path is the authority.
  return call.path.startsWith('/v2/acks/') ? text.replace(' \\\n  -H "Authorization: Bearer $TOKEN"', '') : text;
}

/** The request of an example, as the client would send it. */
async function sentBy(name: string, example: Example): Promise<Call<unknown>> {
  let sent: Call<unknown> | null = null;
  const record = (url: string, { method = 'GET', headers, body }: RequestInit) => {
    sent = {
      method: method as Call<unknown>['method'],
      path: url.slice(BASE.length),
      headers: Object.fromEntries([...new Headers(headers)].map(([name, value]) => [asWritten(name), value])),
      ...(body != null && { body: body as string }),
    };
    // Never answered: nobody waits for it.
    return new Promise<Response>(() => {});
  };
  const fetchOfNode = globalThis.fetch;
  // A call that needs no client has only this one.
  globalThis.fetch = record as typeof fetch;
  void example(new Postrider({ baseUrl: BASE, headerPrefix: 'Service-', retries: 0, fetch: globalThis.fetch }));
  await new Promise(setImmediate);
  globalThis.fetch = fetchOfNode;
  const [method, path = ''] = name.split(' ');
  const pattern = path
    .replaceAll(/[.]/g, '\\.')
    .replaceAll('{destination}', '.+')
    .replaceAll(/\{\w+\}/g, '[^/]+');
  const { method: sentMethod, path: sentPath } = sent ?? { method: 'nothing', path: '' };
  if (sentMethod !== method || !new RegExp(`^${pattern}(?:\\?.*)?$`).test(sentPath)) {
    throw new Error(`the example of ${name} sends ${sentMethod} ${sentPath}`);
  }
  return sent!;
}

/** `Headers` has names in lower case. */
function asWritten(name: string): string {
  return name.replaceAll(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

/** What stands after the arrow, without the indentation of its file. */
function codeOf(example: Example): string {
  const body = String(example).replace(/^(?:async )?\((?:postrider)?\) =>\s*/, '');
  const isBlock = body.startsWith('{');
  const [first = '', ...rest] = (isBlock ? body.slice(1, -1).trim() : `await ${body};`).split('\n');
  const indents = rest.filter((line) => line.trim() !== '').map((line) => line.length - line.trimStart().length);
  const common = Math.min(...indents, 80);
  return [first, ...rest.map((line) => line.slice(common))].join('\n');
}

/** In the quotes that the formatter would choose. */
function literal(text: string): string {
  const count = (quote: string) => text.split(quote).length - 1;
  const quote = count("'") > count('"') ? '"' : "'";
  const escaped = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll(quote, `\\${quote}`);
  return `${quote}${escaped}${quote}`;
}
