// The active filters, each with a button that removes it.

import type { ReactNode } from 'react';
import type { Search } from '../base/search.ts';
import { Icon } from '../ui/icon.tsx';
import { type FilterChip, withoutFilterValue } from './filter.ts';

export function FilterChips({
  chips,
  search,
  onChange,
  className,
  children,
}: {
  readonly chips: readonly FilterChip[];
  readonly search: Search;
  readonly onChange: (search: Search) => void;
  readonly className: string;
  /** What is shown in the list beside the chips. */
  readonly children: ReactNode;
}) {
  return (
    <ul aria-label="Filters" className={`flex flex-wrap gap-1.5 ${className}`}>
      {chips.map(({ name, value, label }) => (
        <li
          key={`${name} ${value}`}
          className="flex h-6 max-w-full items-center gap-1.5 rounded-md bg-accent-soft pr-1 pl-2 text-xs"
        >
          <span className="text-ink-3">{label}</span>
          <span className="truncate font-medium">{value}</span>
          <button
            type="button"
            className="grid size-5 place-items-center rounded text-ink-3 hover:text-ink"
            aria-label={`Remove filter ${label} ${value}`}
            onClick={() => onChange(withoutFilterValue(search, name, value))}
          >
            <Icon name="close" className="size-3" />
          </button>
        </li>
      ))}
      {children}
    </ul>
  );
}
