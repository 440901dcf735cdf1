// `postrider completion`: prints the script for a shell.

import { SETTING_KEYS, SETTINGS } from '../../../../server/src/node/settings/config.ts';
import type { FlagSpec } from '../../frame/arguments.ts';
import type { Invocation } from '../../frame/command.ts';
import { sharedFlags } from '../../frame/command-line.ts';
import { type Completable, completionScript, SHELLS } from '../../frame/completion.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { COMMAND_TABLE, SETTINGS_COMMANDS } from '../../table/table.ts';

export async function completion({ given, out }: Invocation): Promise<number> {
  const shell = SHELLS.find((each) => each === given.words[0])!;
  const script = completionScript(shell, completables());
  out.result({ shell, script }, script.trimEnd());
  return EXIT.done;
}

const HELP: FlagSpec = { name: 'help', short: 'h', about: 'Show how it is used.' };

function completables(): Completable[] {
  const ofSettings = SETTINGS_COMMANDS.map(({ name, summary }) => ({
    name,
    summary,
    flags: [
      ...SETTING_KEYS.map((key) => SETTINGS[key])
        .filter(({ commands }) => commands.includes(name))
        .map(({ flag, kind, description }) => ({
          name: flag,
          about: description,
          ...(kind.placeholder !== null && { placeholder: kind.placeholder }),
        })),
      HELP,
    ],
    values: [],
  }));
  const others = COMMAND_TABLE.map((spec) => ({
    name: spec.name,
    summary: spec.summary,
    flags: [...(spec.flags ?? []), ...sharedFlags(spec), HELP],
    values: spec.arguments?.[0]?.values ?? [],
    isDefault: spec.isDefault ?? false,
  }));
  const all = [...ofSettings, ...others];
  const names = [...new Set(all.map(({ name }) => name.split(' ')[0]!))];
  return [...all, { name: 'help', summary: 'show how a command is used', flags: [], values: names }];
}
