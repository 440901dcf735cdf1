// Rows in which a user enters settings: names are suggested, each with its description and an example of its value.

import { useId } from 'react';
import { useSession } from '../base/session.ts';
import { Icon } from '../ui/icon.tsx';
import { KNOWN_SETTINGS, type KnownSetting } from './setting-table.ts';
import { knownSetting } from './settings-known.ts';

/** The characters that an HTTP header can hold: Latin-1. */
const HEADER_CHARACTERS = '[\\t -~\\u0080-\\u00ff]*';

const HIDDEN = 'The value is redacted: the service does not show it. Enter it, or remove the setting.';

export type SettingRow = readonly [name: string, value: string];

export function HeaderRows({
  rows,
  redacted = [],
  suggested = KNOWN_SETTINGS,
  onChange,
}: {
  readonly rows: readonly SettingRow[];
  /** Names of headers whose values the service does not show. The user must enter these values. */
  readonly redacted?: readonly string[];
  readonly suggested?: readonly KnownSetting[];
  readonly onChange: (rows: readonly SettingRow[]) => void;
}) {
  const { headerPrefix } = useSession().account.service;
  const listId = useId();
  const set = (at: number, row: SettingRow) => onChange(rows.map((each, index) => (index === at ? row : each)));
  return (
    <div className="space-y-2">
      <datalist id={listId}>
        {suggested.map(({ name, help }) => (
          <option key={name} value={name}>
            {help}
          </option>
        ))}
      </datalist>
      {rows.map(([name, value], at) => {
        const known = knownSetting(name);
        const isHidden = redacted.includes(name);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity but their place
          <div key={at}>
            <div className="flex gap-2">
              <div className="flex w-2/5 min-w-0 shrink-0 items-center rounded-md border border-line-strong bg-raised focus-within:border-accent">
                <span className="mono hidden pl-2.5 text-ink-3 sm:block">{headerPrefix}</span>
                <input
                  className="mono h-8 w-full min-w-0 bg-transparent px-1 text-sm outline-none max-sm:px-2.5"
                  aria-label={`Name of setting ${at + 1}`}
                  list={listId}
                  placeholder="Retries"
                  value={name}
                  onChange={(event) => set(at, [event.target.value, value])}
                />
              </div>
              <input
                className="input mono grow"
                aria-label={`Value of ${name || `setting ${at + 1}`}`}
                placeholder={isHidden ? 'redacted: enter the value' : (known?.example ?? '')}
                required={isHidden}
                pattern={HEADER_CHARACTERS}
                title={isHidden ? HIDDEN : undefined}
                value={value}
                onChange={(event) => set(at, [name, event.target.value])}
              />
              <button
                type="button"
                className="btn btn-quiet btn-icon"
                aria-label={`Remove ${name || `setting ${at + 1}`}`}
                onClick={() => onChange(rows.filter((_, index) => index !== at))}
              >
                <Icon name="close" className="size-3.5" />
              </button>
            </div>
            {isHidden && value === '' && <p className="mt-0.5 text-2xs text-retrying">{HIDDEN}</p>}
            {known && <p className="mt-0.5 text-2xs text-ink-3">{known.help}</p>}
          </div>
        );
      })}
      <button type="button" className="btn btn-quiet btn-small -ml-2" onClick={() => onChange([...rows, ['', '']])}>
        <Icon name="plus" className="size-3.5" />
        Add setting
      </button>
    </div>
  );
}
