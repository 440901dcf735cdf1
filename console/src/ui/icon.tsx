// The icons of the console, all drawn on one grid with one stroke.

import type { ReactNode } from 'react';

const PATHS = {
  messages: 'M2.5 4h11v8h-11zM2.5 4.5 8 9l5.5-4.5',
  failures: 'M8 2 14.5 13.5h-13zM8 6.5v3M8 11.6v.1',
  topics: 'M3 8h3M6 8l5-4.5M6 8h5M6 8l5 4.5M11 3.5h2M11 8h2M11 12.5h2',
  overview: 'M2.5 13.5v-4M6.2 13.5v-8M9.8 13.5v-6M13.5 13.5v-11',
  queues: 'M2.5 4h11M2.5 8h11M2.5 12h7',
  hosts: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1',
  send: 'M14 2 7 9M14 2l-4.5 12L7 9 2 6.5z',
  schedules: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6',
  bulk: 'M2.5 5.5 8 2.5l5.5 3L8 8.5zM2.5 8.5l5.5 3 5.5-3M2.5 11l5.5 3 5.5-3',
  audit: 'M3.5 2.5h9v11h-9zM6 5.5h4M6 8h4M6 10.5h2',
  settings: 'M2.5 4.5h6M11.5 4.5h2M2.5 11.5h2M7.5 11.5h6M10 3v3M6 10v3',
  sink: 'M2.5 9.5V13h11V9.5M8 2.5v7M5 7l3 3 3-3',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.8 10.8 14 14',
  close: 'M4 4l8 8M12 4l-8 8',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  check: 'M3 8.5 6.5 12 13 4.5',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  play: 'M5 3.2v9.6L13 8z',
  retry: 'M13 3v3.5H9.5M13 6.5A5.5 5.5 0 1 0 13.4 9',
  trash: 'M2.5 4.5h11M6 4.5v-2h4v2M4 4.5l.7 9h6.6l.7-9',
  edit: 'M10.5 3 13 5.5l-8 8H2.5V11z',
  plus: 'M8 3v10M3 8h10',
  up: 'M8 13V3.5M4 7.5l4-4 4 4',
  down: 'M8 3v9.5M4 8.5l4 4 4-4',
  right: 'M6 3.5 10.5 8 6 12.5',
  more: 'M3.5 8h.1M8 8h.1M12.5 8h.1',
  sun: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7',
  moon: 'M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z',
  exit: 'M6 2.5H2.5v11H6M10 5l3 3-3 3M13 8H6',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6',
  stop: 'M4 4h8v8H4z',
  code: 'M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5',
  external: 'M9 2.5h4.5V7M13.5 2.5 7.5 8.5M11 9.5v4H2.5V5h4',
  download: 'M8 2.5v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11',
  help: 'M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.5M8 12v.1',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, className = 'size-4' }: { readonly name: IconName; readonly className?: string }) {
  return (
    <svg viewBox="0 0 16 16" className={`${className} shrink-0`} aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth={name === 'more' ? 2 : 1.4}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}

/** The logo. */
export function Logo({ className = 'size-6' }: { readonly className?: string }): ReactNode {
  return (
    <svg viewBox="0 0 32 32" className={`${className} shrink-0`} aria-hidden="true" focusable="false">
      <rect width="32" height="32" rx="8" fill="#4a4cd4" />
      <path
        d="M8 10.5h13.5a4.5 4.5 0 0 1 0 9H15M8 15.5h7M8 20.5h4"
        fill="none"
        stroke="#fff"
        strokeWidth="2.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
