// Pieces of configuration for other programs, judged by those programs where they are installed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lacks, programPath } from '../support/machine.ts';

type Judge = 'nginx' | 'systemd-analyze';
export type OnMissing = (program: Judge) => void;

function run(program: Judge, args: readonly string[], onMissing: OnMissing): string {
  if (lacks(program)) {
    onMissing(program);
    return '';
  }
  const { error, status, stdout, stderr } = spawnSync(programPath(program)!, args, { encoding: 'utf8' });
  assert.equal(status, 0, `${error ?? ''}${stdout}${stderr}`);
  return `${stdout}${stderr}`;
}

/** Locations, as the page says, stand in a server of nginx. */
export function judgedByNginx(text: string, folder: string, onMissing: OnMissing): void {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const server = `server { listen unix:${folder}/socket; ${text} }`;
  const http = `http { access_log off; ${paths.join(' ')} ${server} }`;
  const file = join(folder, 'nginx.conf');
  writeFileSync(file, `pid ${folder}/pid; error_log stderr; events {} ${http}`);
  run('nginx', ['-t', '-q', '-e', 'stderr', '-c', file], onMissing);
}

/** Units of systemd, each after a comment with its path. */
export function judgedBySystemd(text: string, folder: string, onMissing: OnMissing): void {
  const files = text.split(/^(?=# \/etc\/systemd\/system\/)/m).map((unit) => {
    const [, name] = /^# \/etc\/systemd\/system\/(\S+)$/m.exec(unit) ?? [];
    assert.ok(name, unit);
    writeFileSync(join(folder, name), unit);
    return join(folder, name);
  });
  // It ends with 0 when it leaves out a line that it does not understand. Other units may have faults of their own.
  const said = run('systemd-analyze', ['verify', '--man=no', ...files], onMissing);
  for (const file of files) assert.ok(!said.includes(file), said);
}
