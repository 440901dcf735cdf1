// The scripts that let a shell complete commands and flags. They are made from the table of commands, and complete only
// these names: the service is not called while somebody types.

import type { FlagSpec } from './arguments.ts';

/** A command that a shell can complete: its name, its flags, and the words that may follow its name. */
export interface Completable {
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagSpec[];
  readonly values: readonly string[];
  /** Whether the first word of its name alone runs the command. */
  readonly isDefault?: boolean;
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

export function completionScript(shell: Shell, commands: readonly Completable[]): string {
  if (shell === 'bash') return bash(commands);
  return shell === 'zsh' ? zsh(commands) : fish(commands);
}

const flagWords = (flags: readonly FlagSpec[]) =>
  flags.flatMap(({ name, short }) => [`--${name}`, ...(short ? [`-${short}`] : [])]);

const firstWords = (commands: readonly Completable[]) => [...new Set(commands.map(({ name }) => name.split(' ')[0]!))];

const verbsOf = (commands: readonly Completable[], group: string) =>
  commands.filter(({ name }) => name.startsWith(`${group} `)).map(({ name }) => name.slice(group.length + 1));

/** For each beginning of a command line (its first word, or its first two): the words that may follow it. */
function cases(commands: readonly Completable[]): readonly (readonly [beginning: string, words: readonly string[]])[] {
  const groups = firstWords(commands).filter((word) => verbsOf(commands, word).length > 0);
  const ofCommands = commands.map(({ name, flags, values }) => [name, [...values, ...flagWords(flags)]] as const);
  const ofGroups = groups
    .filter((group) => !commands.some(({ name }) => name === group))
    .map((group) => {
      const byDefault = commands.find(({ name, isDefault }) => isDefault && name.startsWith(`${group} `));
      return [group, [...verbsOf(commands, group), ...flagWords(byDefault?.flags ?? [])]] as const;
    });
  const withVerbs = ofCommands.map(([name, words]) => [name, [...verbsOf(commands, name), ...words]] as const);
  return [...withVerbs, ...ofGroups];
}

function bash(commands: readonly Completable[]): string {
  const branches = cases(commands).map(([beginning, words]) => `    '${beginning}') words='${words.join(' ')}' ;;`);
  return `# Completion of postrider for bash. Use it with: source <(postrider completion bash)
_postrider() {
  local current="\${COMP_WORDS[COMP_CWORD]}" first="\${COMP_WORDS[1]:-}" second="\${COMP_WORDS[2]:-}" words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${firstWords(commands).join(' ')}' -- "$current"))
    return
  fi
  local key="$first"
  if [ "$COMP_CWORD" -gt 2 ]; then
    case "$first $second" in
${commands
  .filter(({ name }) => name.includes(' '))
  .map(({ name }) => `      '${name}') key='${name}' ;;`)
  .join('\n')}
    esac
  fi
  case "$key" in
${branches.join('\n')}
  esac
  # In the list, flags come after all other words. They are offered only after a dash was typed.
  [[ "$current" == -* ]] || { words=" $words"; words="\${words%% -*}"; }
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _postrider postrider
`;
}

const quotedForZsh = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function zsh(commands: readonly Completable[]): string {
  const branches = cases(commands).map(
    ([beginning, words]) => `    '${beginning}') choices=(${words.map(quotedForZsh).join(' ')}) ;;`,
  );
  const first = firstWords(commands).map((word) => {
    const own = commands.find(({ name }) => name === word) ?? commands.find(({ name }) => name.startsWith(`${word} `))!;
    return quotedForZsh(`${word}:${own.summary.replaceAll(':', ' ')}`);
  });
  return `#compdef postrider
# Completion of postrider for zsh. Put it into a directory of $fpath as _postrider, or use it with:
# source <(postrider completion zsh)
_postrider() {
  local -a first choices
  if (( CURRENT == 2 )); then
    first=(${first.join(' ')})
    _describe 'command' first
    return
  fi
  local key="\${words[2]}" pair="\${words[2]} \${words[3]}"
  if (( CURRENT > 3 )); then
    case "$pair" in
${commands
  .filter(({ name }) => name.includes(' '))
  .map(({ name }) => `      '${name}') key='${name}' ;;`)
  .join('\n')}
    esac
  fi
  case "$key" in
${branches.join('\n')}
  esac
  compadd -- "\${choices[@]}" || _files
}
compdef _postrider postrider
`;
}

const quotedForFish = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

function fishLines({ name, summary, flags, values }: Completable): string[] {
  const [first, second] = name.split(' ');
  const verb = `-n '__postrider_at ${first}' -f -a ${second} -d ${quotedForFish(summary)}`;
  const inside = [
    ...(values.length > 0 ? [`-f -a ${quotedForFish(values.join(' '))}`] : []),
    ...flags.map((flag) => {
      const short = flag.short ? ` -s ${flag.short}` : '';
      const value = flag.placeholder ? ' -r' : '';
      return `-l ${flag.name}${short}${value} -d ${quotedForFish(flag.about)}`;
    }),
  ].map((each) => `-n '__postrider_in ${name}' ${each}`);
  return [...(second === undefined ? [] : [verb]), ...inside].map((each) => `complete -c postrider ${each}`);
}

function fish(commands: readonly Completable[]): string {
  const lines = firstWords(commands).map((word) => {
    const own = commands.find(({ name }) => name === word) ?? commands.find(({ name }) => name.startsWith(`${word} `))!;
    return `complete -c postrider -n __fish_use_subcommand -f -a ${word} -d ${quotedForFish(own.summary)}`;
  });
  lines.push(...commands.flatMap(fishLines));
  return `# Completion of postrider for fish. Use it with: postrider completion fish | source
function __postrider_at
    set -l line (commandline -opc)
    test (count $line) -eq 2; and test "$line[2]" = "$argv[1]"
end
function __postrider_in
    set -l line (commandline -opc)
    set -l wanted (count $argv)
    test (count $line) -gt $wanted; or return 1
    for at in (seq $wanted)
        set -l next (math $at + 1)
        test "$line[$next]" = "$argv[$at]"; or return 1
    end
end
${lines.join('\n')}
`;
}
