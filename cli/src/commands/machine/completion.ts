// `postrider completion`: prints the script for a shell.

import { SETTING_KEYS, SETTINGS } from '../../../../server/src/node/settings/config.ts';
import type { FlagSpec } from '../../frame/arguments.ts';
import type { Commands, Invocation } from '../../frame/command.ts';
import { type Completable, completionScript, SHELLS } from '../../frame/completion.ts';
import { EXIT } from '../../frame/exit-codes.ts';
import { sharedFlags } from '../../table/flags.ts';

export async function completion({ given, out, commands }: Invocation): Promise<number> {
  const shell = SHELLS.find((each) => each === given.words[0])!;
  const script = completionScript(shell, completables(commands));
  out.result({ shell, script }, script.trimEnd());
  return EXIT.done;
}

const HELP: FlagSpec = { name: 'help', short: 'h', about: 'Show how it is used.' };

function completables(commands: Commands): Completable[] {
  const ofSettings = commands.ofSettings.map(({ name, summary }) => ({
    name,
    summary,
    flags: [
      ...SETTING_KEYS.map((key) => SETTINGS[key])
        .filter((setting) => setting.commands.includes(name))
        .map(({ flag, kind, description }) => ({
          name: flag,
          about: description,
          ...(kind.placeholder !== null && { placeholder: kind.placeholder }),
        })),
      HELP,
    ],
    values: [],
  }));
  const others = commands.specs.map((spec) => ({
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
