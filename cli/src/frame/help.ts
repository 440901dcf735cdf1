// The pages of help, made from the table of commands.

import type { FlagSpec } from './arguments.ts';
import type { CommandSpec, SettingsCommandSpec } from './command.ts';

const WIDTH = 88;

export function wrap(prose: string, width = WIDTH): string[] {
  const lines = [''];
  for (const word of prose.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines;
}

export function usageLine({ name, arguments: words = [] }: Pick<CommandSpec, 'name' | 'arguments'>): string {
  const shown = words.map((each) => {
    const text = `<${each.name}>${each.isRepeated ? '…' : ''}`;
    return each.isOptional ? `[${text}]` : text;
  });
  return ['postrider', name, ...shown, '[flags]'].join(' ');
}

export function flagHead({ name, short, placeholder }: FlagSpec): string {
  return `${short ? `-${short}, ` : ''}--${name}${placeholder ? ` ${placeholder}` : ''}`;
}

export function commandHelp(spec: CommandSpec, shared: readonly FlagSpec[]): string {
  const parts = [
    [`Usage: ${usageLine(spec)}`],
    wrap(spec.about ?? `${spec.summary.charAt(0).toUpperCase()}${spec.summary.slice(1)}.`),
    (spec.arguments ?? []).flatMap(({ name, about }) => entry(`<${name}>`, about)),
    (spec.flags ?? []).flatMap((flag) => entry(flagHead(flag), flag.about)),
    spec.scope ? [`The token needs the scope ${spec.scope}.`] : [],
    spec.examples?.length ? ['Examples:', ...spec.examples.map((example) => `  ${example}`)] : [],
    shared.length > 0
      ? ['Flags shared with other commands:', ...shared.flatMap((flag) => entry(flagHead(flag), flag.about))]
      : [],
  ];
  return `${parts
    .filter((part) => part.length > 0)
    .map((part) => part.join('\n'))
    .join('\n\n')}\n`;
}

function entry(head: string, about: string): string[] {
  return [`  ${head}`, ...wrap(about).map((line) => `      ${line}`)];
}

export interface Section {
  readonly title: string;
  readonly commands: readonly (CommandSpec | SettingsCommandSpec)[];
}

/** All commands in their sections, or only the commands of one group. */
export function overview(version: string, sections: readonly Section[], group: string | null = null): string {
  const chosen = sections
    .map(({ title, commands }) => ({
      title,
      commands: commands.filter(({ name }) => group === null || name === group || name.startsWith(`${group} `)),
    }))
    .filter(({ commands }) => commands.length > 0);
  const width = Math.max(...chosen.flatMap(({ commands }) => commands.map(({ name }) => name.length)));
  const body = chosen.map(({ title, commands }) =>
    [
      ...(group === null ? [`${title}:`] : []),
      ...commands.map(({ name, summary }) => `  postrider ${name.padEnd(width)}  ${summary}`),
    ].join('\n'),
  );
  const head =
    group === null
      ? `postrider ${version}: accepts messages over HTTP and delivers each one later, as an HTTP request\n\n`
      : '';
  return `${head}${body.join('\n\n')}\n\n  postrider <command> --help shows the flags of a command.\n`;
}
