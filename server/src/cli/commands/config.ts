// `postrider config …`: the address and the token that the command uses.

import { readFileSync } from 'node:fs';
import { type ClientFile, clientFilePath, readClientFile, writeClientFile } from '../frame/client-file.ts';
import type { Invocation } from '../frame/command.ts';
import { wrongUrl } from '../frame/connection.ts';
import { EXIT } from '../frame/exit-codes.ts';
import { Failure } from '../frame/failure.ts';
import { printable } from '../frame/printable.ts';

export async function setConfig({ given, out, io }: Invocation): Promise<number> {
  const path = given.text('config') ?? io.env.POSTRIDER_CONFIG ?? clientFilePath(io.env, io.home);
  const [url, headerPrefix] = [given.text('url'), given.text('header-prefix')];
  const problem = url === undefined ? null : wrongUrl(url);
  if (problem !== null) throw new Failure(`--url cannot be used: ${problem}`, { exit: EXIT.usage });
  const token = await tokenToKeep({ given, io });
  const change = {
    ...(url !== undefined && { url }),
    ...(token !== undefined && { token }),
    ...(headerPrefix !== undefined && { headerPrefix }),
  };
  if (Object.keys(change).length === 0) {
    throw new Failure('there is nothing to keep: give --url, --token-file or --header-prefix', { exit: EXIT.usage });
  }
  const file: ClientFile = readClientFile(path, false) ?? {};
  const profile = given.text('profile');
  const profiles = new Map(Object.entries(file.profiles ?? {}));
  if (profile !== undefined) profiles.set(profile, { ...profiles.get(profile), ...change });
  writeClientFile(
    path,
    profile === undefined ? { ...file, ...change } : { ...file, profiles: Object.fromEntries(profiles) },
  );
  if (out.isJson) out.json({ path, kept: Object.keys(change), ...(profile !== undefined && { profile }) });
  else
    out.line(
      `${printable(path)}: kept ${Object.keys(change).join(', ')}${profile === undefined ? '' : ` as profile ${printable(profile)}`}.`,
    );
  return EXIT.done;
}

/** From a file or standard input, so that it stays out of the history of the shell. */
async function tokenToKeep({ given, io }: Pick<Invocation, 'given' | 'io'>): Promise<string | undefined> {
  const [token, file] = [given.text('token'), given.text('token-file')];
  if (token !== undefined || file === undefined) return token;
  let text = '';
  if (file === '-') {
    if (io.stdin.isTTY) io.stderr.write('Paste the token, then press Enter and Ctrl-D.\n');
    const pieces: Uint8Array[] = [];
    for await (const piece of io.stdin) pieces.push(piece);
    text = Buffer.concat(pieces).toString('utf8').trim();
  } else {
    try {
      text = readFileSync(file, 'utf8').trim();
    } catch (error) {
      throw new Failure(`cannot read the token from ${printable(file)}: ${(error as Error).message}`, {
        exit: EXIT.usage,
      });
    }
  }
  if (text !== '') return text;
  throw new Failure('the token is empty', { exit: EXIT.usage });
}
