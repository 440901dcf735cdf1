// docs/cli.md, made from the table of commands.

import { EXIT_MEANINGS } from '../../cli/src/frame/exit-codes.ts';
import { flagHead, usageLine } from '../../cli/src/frame/help.ts';
import { CONNECTION_FLAGS, OUTPUT_FLAGS } from '../../cli/src/table/flags.ts';
import { SECTIONS } from '../../cli/src/table/table.ts';

type Table = (head: readonly string[], rows: readonly (readonly string[])[]) => string;

const INTRO = `# The command line

\`postrider\` runs the service, works on its store, and calls its API. \`postrider help\` lists all commands,
\`postrider <command> --help\` shows one. Wrong usage is refused before anything is done, with all problems at once.
A flag that would have no effect together with the other arguments is a usage error too.

## Which service

The address and the token come from the first of these that has them:

1. flags: \`--url\`, \`--token-file\` (\`-\` reads standard input), \`--token\`;
2. variables: \`POSTRIDER_URL\`, \`POSTRIDER_TOKEN\`, \`POSTRIDER_TOKEN_FILE\`;
3. the config file: \`postrider/config.json\` in \`XDG_CONFIG_HOME\` or \`~/.config\`, or the file that \`--config\` or
   \`POSTRIDER_CONFIG\` names;
4. \`http://127.0.0.1:8411\`, and on this machine the token of \`postrider dev\`.

\`\`\`json
{
  "url": "https://postrider.example.com",
  "token": "pr_…",
  "profiles": { "staging": { "url": "https://staging.example.com", "tokenFile": "/run/secrets/postrider" } }
}
\`\`\`

A config file that holds a token must be readable by its owner alone (mode 0600), or it is refused. Its token is sent to
its own address only. \`--profile\` or \`POSTRIDER_PROFILE\` chooses a profile. A profile or a config
file that a flag names comes before the variables. No output shows a token, except for the command that makes it. A token
given by \`--token\` is removed from the list of processes as soon as the program runs, but the history of the shell keeps
it.

The command follows no redirect, because the token would go along.

## Output

On a terminal, output is tables and sentences. \`--json\` (or \`POSTRIDER_JSON=1\`) prints one JSON document, and one line
of JSON for each record where records come one by one (\`tail\`, \`--wait\`, \`batch\`). Answers go to standard output; all
else goes to standard error, errors too: with \`--json\` as \`{"error": {"message", "hint"?, "code"?, "status"?, "exit"}}\`.
\`dev\` and \`serve\` say in words why they cannot start, also with \`--json\`.
Times are in UTC. Colours are used on a terminal only, and not with \`NO_COLOR\` or \`--no-color\`. Control characters in
what others wrote are shown as \`\\u001b\`. Where standard input is no terminal, nothing is asked: a command that would ask
needs \`--yes\`.

## Exit codes
`;

export function cliPage(generated: string, table: Table): string {
  const flagRows = (flags: typeof OUTPUT_FLAGS) => flags.map((flag) => [`\`${flagHead(flag)}\``, flag.about]);
  const sections = SECTIONS.map(({ title, commands }) => {
    const shown = commands.map((spec) => {
      if (!('load' in spec)) {
        return `### postrider ${spec.name}\n\n${sentence(spec.summary)} Its flags are in [configuration.md](configuration.md).`;
      }
      const own = [
        ...(spec.arguments ?? []).map(({ name, about }) => [`\`<${name}>\``, sentence(about)]),
        ...flagRows(spec.flags ?? []),
      ];
      const parts = [
        `### postrider ${spec.name}`,
        `\`${usageLine(spec)}\``,
        `${sentence(spec.about ?? spec.summary)}${spec.scope ? ` Scope: ${spec.scope}.` : ''}`,
        own.length > 0 ? table(['Argument or flag', 'Meaning'], own) : '',
        spec.examples?.length ? `\`\`\`sh\n${spec.examples.join('\n')}\n\`\`\`` : '',
      ];
      return parts.filter((part) => part !== '').join('\n\n');
    });
    return `## ${title}\n\n${shown.join('\n\n')}`;
  });
  return `${generated}

${INTRO}
${table(
  ['Code', 'Meaning'],
  EXIT_MEANINGS.map(([code, meaning]) => [String(code), sentence(meaning)]),
)}

## Flags of every command that calls the API

${table(['Flag', 'Meaning'], [...flagRows(OUTPUT_FLAGS), ...flagRows(CONNECTION_FLAGS)])}

${sections.join('\n\n')}
`;
}

function sentence(text: string): string {
  const ended = /[.!?]$/.test(text) ? text : `${text}.`;
  return /^[a-z]+[ ,.:]/.test(ended) && !ended.startsWith('serve,') && !ended.startsWith('apply ')
    ? ended.charAt(0).toUpperCase() + ended.slice(1)
    : ended;
}
