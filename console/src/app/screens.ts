// The screens, in the order of the navigation, for the navigation and the palette.

import type { IconName } from '../ui/icon.tsx';

export interface ScreenEntry {
  readonly to:
    | '/messages'
    | '/failures'
    | '/topics'
    | '/overview'
    | '/queues'
    | '/hosts'
    | '/send'
    | '/schedules'
    | '/bulk'
    | '/audit'
    | '/settings'
    | '/sink';
  readonly title: string;
  readonly icon: IconName;
  /** The key that opens the screen when it is pressed after `g`. */
  readonly key: string;
}

export const SCREENS: readonly ScreenEntry[] = [
  { to: '/overview', title: 'Overview', icon: 'overview', key: 'o' },
  { to: '/messages', title: 'Messages', icon: 'messages', key: 'm' },
  { to: '/failures', title: 'Failures', icon: 'failures', key: 'f' },
  { to: '/topics', title: 'Topics', icon: 'topics', key: 't' },
  { to: '/queues', title: 'Queues', icon: 'queues', key: 'q' },
  { to: '/hosts', title: 'Hosts', icon: 'hosts', key: 'h' },
  { to: '/schedules', title: 'Schedules', icon: 'schedules', key: 'c' },
  { to: '/bulk', title: 'Bulk operations', icon: 'bulk', key: 'b' },
  { to: '/send', title: 'Send', icon: 'send', key: 's' },
  { to: '/sink', title: 'Sink', icon: 'sink', key: 'k' },
  { to: '/audit', title: 'Audit', icon: 'audit', key: 'a' },
  { to: '/settings', title: 'Settings', icon: 'settings', key: ',' },
];

/** The screens of the console. The sink is a screen in development only. */
export function screensFor(isDev: boolean): readonly ScreenEntry[] {
  return SCREENS.filter(({ to }) => isDev || to !== '/sink');
}
