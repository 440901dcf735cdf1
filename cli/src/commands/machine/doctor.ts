// `postrider doctor`: checks what the service needs on this machine, and prints what is wrong and what to do about it.

import { type Config, parseConfig } from '../../../../server/src/node/settings/config.ts';
import type { Invocation } from '../../frame/command.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { Failure } from '../../frame/failure.ts';
import { wrap } from '../../frame/help.ts';
import type { Output } from '../../frame/output.ts';
import { printable } from '../../frame/printable.ts';
import { checkDestination } from '../../service/doctor-egress.ts';
import {
  checkDirectory,
  checkPort,
  checkProgram,
  checkStoreOpens,
  type Finding,
  finding,
} from '../../service/doctor-machine.ts';
import { checkService } from './doctor-service.ts';

const [STATE_WIDTH, NAME_WIDTH] = [7, 9];
const TEXT_AT = STATE_WIDTH + NAME_WIDTH + 4;
const TEXT_WIDTH_MIN = 30;

/** Wraps the text into lines of at most this width. */
function wrapped(text: string, width: number | null): string[] {
  return wrap(printable(text), width === null ? Number.POSITIVE_INFINITY : Math.max(TEXT_WIDTH_MIN, width - TEXT_AT));
}

export async function doctor(invocation: Invocation): Promise<number> {
  const { given, out } = invocation;
  const destination = given.text('destination');
  if (destination !== undefined && !/^https?:\/\/./.test(destination)) {
    throw new Failure('--destination must be a URL that starts with http:// or https://', { exit: EXIT.usage });
  }
  const { config, problems } = settingsOf(invocation);
  const checked = config === null ? [] : await checkWith(config, invocation, destination);
  const findings = [checkProgram(), ...problems, ...checked];
  const isWell = !hasWrong(findings);
  if (out.isJson) out.json({ ok: isWell, checks: findings });
  else for (const each of findings) show(each, out);
  out.note(isWell ? 'Nothing is wrong.' : 'Something is wrong: see above.');
  return isWell ? EXIT.done : EXIT.failed;
}

const hasWrong = (findings: readonly Finding[]) => findings.some(({ state }) => state === 'wrong');

async function checkWith(config: Config, invocation: Invocation, destination: string | undefined): Promise<Finding[]> {
  const directory = checkDirectory(config);
  const store = hasWrong(directory) ? finding('store', 'skipped', 'see the directory') : await checkStoreOpens(config);
  const service = await checkService(invocation, config.port);
  const port = await checkPort(config, service.port);
  const egress =
    destination === undefined
      ? [finding('egress', 'skipped', 'no destination was tried', 'Give one: --destination https://example.com')]
      : await checkDestination(config, destination, invocation.io.world.clock);
  return [...directory, store, ...service.findings, port, ...egress];
}

function show({ name, state, says, todo }: Finding, out: Output): void {
  const [first, ...more] = wrapped(says, out.width);
  out.line(`${out.state(state, state.padEnd(STATE_WIDTH))}  ${name.padEnd(NAME_WIDTH)}  ${first}`);
  const rest = [...more, ...wrapped(todo ?? '', out.width)].filter((line) => line !== '');
  for (const line of rest) out.line(`${' '.repeat(TEXT_AT)}${line}`);
}

/** The settings as `serve` would read them with these flags and this environment. */
function settingsOf({ given, io }: Invocation): {
  readonly config: Config | null;
  readonly problems: readonly Finding[];
} {
  const argv = ['data', 'store', 'host', 'port', 'allow-cidr'].flatMap((flag) =>
    given.list(flag).map((value) => `--${flag}=${value}`),
  );
  const parsed = parseConfig('serve', argv, io.env);
  if ('config' in parsed)
    return { config: parsed.config, problems: [finding('settings', 'ok', 'serve would start with them')] };
  const problems = 'problems' in parsed ? parsed.problems : [];
  return {
    config: null,
    problems: problems.map((problem) =>
      finding('settings', 'wrong', problem, 'serve refuses to start until it is repaired.'),
    ),
  };
}
