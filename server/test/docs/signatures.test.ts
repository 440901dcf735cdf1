// The functions of docs/guides/signatures.md judge a real delivery and forged ones, each in its own language. A language
// that is not on this machine is skipped.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, suite, type TestContext, test } from 'node:test';
import { createClient } from 'postrider-sdk';
import { startPostrider } from '../../src/node/main.ts';
import { parseConfig } from '../../src/node/settings/config.ts';
import { temporaryFolder } from '../support/harness.ts';
import { lacks, type NeedName } from '../support/machine.ts';
import { startReceiver } from '../support/receiver.ts';
import { blocksOf } from './blocks.ts';

interface Case {
  readonly name: string;
  readonly isGood: boolean;
  readonly id: string;
  readonly timestamp: string;
  readonly signature: string;
  readonly body: Buffer;
  readonly keys: readonly [string, string];
}

interface Language {
  readonly name: string;
  /** Of its blocks on the page, the first. */
  readonly block: string;
  /** What has to be installed. */
  readonly needs?: NeedName;
  /** The files beside the cases: the block, and what calls it for each line of standard input. */
  readonly files: (block: string) => Readonly<Record<string, string>>;
  readonly run: readonly string[];
}

const BODY = Buffer.concat([Buffer.from('{"größe":"5 µm","text":"a.b.c\\n"}\n'), Buffer.from([0x00, 0xff, 0x0a])]);

/** Every driver reads lines of id, timestamp, signature, body in base64 and two keys, and prints 1 or 0 for each. */
const LANGUAGES: readonly Language[] = [
  {
    name: 'JavaScript',
    block: 'js',
    files: (block) => ({
      'block.mjs': block,
      'main.mjs': `import { readFileSync } from 'node:fs';
import { isFromPostrider } from './block.mjs';
for (const line of readFileSync(0, 'utf8').trimEnd().split('\\n')) {
  const [id, timestamp, signature, body, ...keys] = line.split('\\t');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature };
  console.log(isFromPostrider(headers, Buffer.from(body, 'base64'), keys) ? 1 : 0);
}`,
    }),
    run: [process.execPath, 'main.mjs'],
  },
  {
    name: 'Python',
    block: 'python',
    needs: 'python3',
    files: (block) => ({
      'main.py': `${block}

import sys
for line in sys.stdin:
    id, timestamp, signature, body, *keys = line.rstrip("\\n").split("\\t")
    headers = {"webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature}
    print(1 if is_from_postrider(headers, base64.b64decode(body), keys) else 0)
`,
    }),
    run: ['python3', 'main.py'],
  },
  {
    name: 'Go',
    block: 'go',
    needs: 'go',
    files: (block) => ({
      'go.mod': 'module example\n\ngo 1.19\n',
      'block.go': `package main\n\n${block}\n`,
      'main.go': `package main

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		parts := strings.Split(lines.Text(), "\\t")
		headers := http.Header{}
		headers.Set("webhook-id", parts[0])
		headers.Set("webhook-timestamp", parts[1])
		headers.Set("webhook-signature", parts[2])
		body, _ := base64.StdEncoding.DecodeString(parts[3])
		if IsFromPostrider(headers, body, parts[4:]) {
			fmt.Println(1)
		} else {
			fmt.Println(0)
		}
	}
}
`,
    }),
    run: ['go', 'run', '.'],
  },
  {
    name: 'Java',
    block: 'java',
    needs: 'javac',
    files: (block) => {
      const imports = [...block.matchAll(/^import .*$/gm)].join('\n');
      return {
        'Main.java': `${imports}
class Main {
  public static void main(String[] args) throws Exception {
    for (String line : new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\\n")) {
      String[] parts = line.split("\\t", -1);
      Map<String, String> headers =
        Map.of("webhook-id", parts[0], "webhook-timestamp", parts[1], "webhook-signature", parts[2]);
      byte[] body = Base64.getDecoder().decode(parts[3]);
      System.out.println(Postrider.isFromPostrider(headers, body, List.of(parts[4], parts[5])) ? 1 : 0);
    }
  }
}
${block.replaceAll(/^import .*$/gm, '')}
`,
      };
    },
    run: ['java', '-XX:TieredStopAtLevel=1', 'Main.java'],
  },
  {
    name: 'PHP',
    block: 'php',
    needs: 'php',
    files: (block) => ({
      'main.php': `<?php
${block}
while (($line = fgets(STDIN)) !== false) {
    [$id, $timestamp, $signature, $body, $one, $other] = explode("\\t", rtrim($line, "\\n"));
    $headers = ['webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature];
    echo is_from_postrider($headers, base64_decode($body), [$one, $other]) ? 1 : 0, "\\n";
}
`,
    }),
    run: ['php', 'main.php'],
  },
  {
    name: 'Ruby',
    block: 'ruby',
    needs: 'ruby',
    files: (block) => ({
      'main.rb': `${block}
STDIN.each_line do |line|
  id, timestamp, signature, body, *keys = line.chomp.split("\\t", -1)
  headers = { "webhook-id" => id, "webhook-timestamp" => timestamp, "webhook-signature" => signature }
  puts from_postrider?(headers, body.unpack1("m"), keys) ? 1 : 0
end
`,
    }),
    run: ['ruby', 'main.rb'],
  },
  {
    name: 'Perl',
    block: 'perl',
    needs: 'perl',
    files: (block) => ({
      'main.pl': `use strict;
use warnings;
use MIME::Base64;
${block}
while (my $line = <STDIN>) {
    chomp $line;
    my ($id, $timestamp, $signature, $body, @keys) = split /\\t/, $line, -1;
    my $headers = { 'webhook-id' => $id, 'webhook-timestamp' => $timestamp, 'webhook-signature' => $signature };
    print is_from_postrider($headers, decode_base64($body), @keys) ? 1 : 0, "\\n";
}
`,
    }),
    run: ['perl', 'main.pl'],
  },
];

/** The header as the shell computes it. It judges no time and no list of signatures. */
const SHELL = `while IFS=$(printf '\\t') read -r webhook_id webhook_timestamp signature encoded key other; do
  printf '%s' "$encoded" | base64 -d > body
  test "$(signature_of)" = "$signature" && echo 1 || echo 0
done`;

suite('docs/guides/signatures.md', () => {
  let cases: readonly Case[];

  before(async () => {
    // On the real clock: receivers compare the time of a signature with theirs.
    const ends: (() => void | Promise<void>)[] = [];
    const cleanup = { after: (end: () => void | Promise<void>) => ends.unshift(end) };
    const flags = ['--port', '0', '--data', temporaryFolder(cleanup), '--log-level', 'silent'];
    const parsed = parseConfig('dev', flags, {});
    assert.ok('config' in parsed);
    const service = await startPostrider(parsed.config);
    cleanup.after(async () => void (await service.close()));
    const client = createClient({ baseUrl: service.url, token: service.token! });
    const receiver = await startReceiver(cleanup);
    const { current, next } = await client.getKeys();
    await client.publish({ destination: `${receiver.url}/hook`, body: BODY });
    const [arrival] = await receiver.received(1);
    for (const end of ends) await end();
    assert.ok(arrival);
    assert.deepEqual(Buffer.from(arrival.body), BODY);
    const header = (name: string) => arrival.header(`webhook-${name}`)!;
    const signed = { id: header('id'), timestamp: header('timestamp'), signature: header('signature') };
    cases = casesOf({ ...signed, body: BODY, keys: [current, next] }, current);
  });

  const lines = (some: readonly Case[]) =>
    `${some
      .map(({ id, timestamp, signature, body, keys }) =>
        [id, timestamp, signature, body.toString('base64'), ...keys].join('\t'),
      )
      .join('\n')}\n`;

  function folderWith(t: TestContext, files: Readonly<Record<string, string>>): string {
    const folder = join(temporaryFolder(t), 'language');
    mkdirSync(folder);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return folder;
  }

  function judge(t: TestContext, some: readonly Case[], command: readonly string[], files: Record<string, string>) {
    const cwd = folderWith(t, files);
    const env = { ...process.env, GOFLAGS: '-mod=mod', GOCACHE: join(cwd, 'cache'), GOTOOLCHAIN: 'local' };
    const output = execFileSync(command[0]!, command.slice(1), {
      cwd,
      input: lines(some),
      encoding: 'utf8',
      timeout: 240_000,
      env,
    });
    const told = output.trimEnd().split('\n');
    assert.deepEqual(
      some.map(({ name }, index) => `${name}: ${told[index]}`),
      some.map(({ name, isGood }) => `${name}: ${isGood ? 1 : 0}`),
    );
  }

  const blockIn = (language: string) => {
    const found = blocksOf('docs/guides/signatures.md').find((block) => block.language === language);
    assert.ok(found, `the page has no block in ${language}`);
    return found.text;
  };

  for (const { name, block, needs, files, run } of LANGUAGES) {
    test(`${name} accepts a real delivery and refuses forged ones`, { skip: needs && lacks(needs) }, (t) => {
      const text = blockIn(block);
      judge(t, cases, run, files(text));
    });
  }

  test('a shell computes the same signature', { skip: lacks('bash', 'openssl') }, (t) => {
    const comparable = cases.filter(({ name }) => !/old|ahead|second|^no /.test(name));
    judge(t, comparable, ['bash', 'main.sh'], { 'main.sh': `${blockIn('bash')}\n${SHELL}\n` });
  });
});

function casesOf(real: Omit<Case, 'name' | 'isGood'>, key: string): Case[] {
  const at = (seconds: number) => {
    const timestamp = String(Math.floor(Date.now() / 1000) + seconds);
    const mac = createHmac('sha256', key).update(`${real.id}.${timestamp}.`).update(BODY).digest('base64');
    return { timestamp, signature: `v1,${mac}` };
  };
  const good = { ...real, isGood: true };
  const bad = { ...real, isGood: false };
  return [
    { ...good, name: 'as it came' },
    { ...good, name: 'second key', keys: ['sig_other', key] },
    { ...good, name: 'second signature', signature: `v1,AAAA v2,BBBB ${real.signature}` },
    { ...bad, name: 'other keys', keys: ['sig_other', 'sig_another'] },
    { ...bad, name: 'other body', body: Buffer.from('{}') },
    { ...bad, name: 'other id', id: `${real.id}x` },
    { ...bad, name: 'other time', timestamp: String(Number(real.timestamp) + 1) },
    { ...bad, name: 'no signature', signature: '' },
    { ...bad, name: 'no version', signature: real.signature.slice(3) },
    { ...bad, name: 'cut signature', signature: real.signature.slice(0, -1) },
    { ...bad, name: 'no time', timestamp: '' },
    { ...bad, name: 'no number', timestamp: 'NaN' },
    { ...bad, ...at(-3600), name: 'an hour old' },
    { ...bad, ...at(3600), name: 'an hour ahead' },
  ];
}
