// The screens and their addresses. A message opens over the list in which it was found.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { AuditScreen } from '../audit/audit-screen.tsx';
import { CONSOLE_PATH } from '../base/address.ts';
import { parseSearch, type Search, stringifySearch } from '../base/search.ts';
import { BulkScreen } from '../bulk/bulk-screen.tsx';
import { FailuresScreen } from '../failures/failures-screen.tsx';
import { HostsScreen } from '../hosts/hosts-screen.tsx';
import { MessageDrawer } from '../messages/message-drawer.tsx';
import { MessagesScreen } from '../messages/messages-screen.tsx';
import { QueuesScreen } from '../queues/queues-screen.tsx';
import { SchedulesScreen } from '../schedules/schedules-screen.tsx';
import { SendScreen } from '../send/send-screen.tsx';
import { SettingsScreen } from '../settings/settings-screen.tsx';
import { SinkScreen } from '../sink/sink-screen.tsx';
import { TopicScreen } from '../topics/topic-screen.tsx';
import { TopicsScreen } from '../topics/topics-screen.tsx';
import { NotFound, ScreenError } from './not-found.tsx';
import { Shell } from './shell.tsx';

const validateSearch = (search: Record<string, unknown>) => search as Search;

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound, validateSearch });

const index = createRoute({
  getParentRoute: () => root,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/messages', replace: true });
  },
});
const messages = createRoute({ getParentRoute: () => root, path: '/messages', component: MessagesScreen });
const message = createRoute({ getParentRoute: () => messages, path: '$messageId', component: MessageDrawer });
const failures = createRoute({ getParentRoute: () => root, path: '/failures', component: FailuresScreen });
const topics = createRoute({ getParentRoute: () => root, path: '/topics', component: TopicsScreen });
const topic = createRoute({ getParentRoute: () => root, path: '/topics/$topicName', component: TopicScreen });
const overview = createRoute({
  getParentRoute: () => root,
  path: '/overview',
  // This screen loads the charts, which no other screen needs, so it is loaded separately.
  component: lazyRouteComponent(() => import('../overview/overview-screen.tsx'), 'OverviewScreen'),
});
const queues = createRoute({ getParentRoute: () => root, path: '/queues', component: QueuesScreen });
const hosts = createRoute({ getParentRoute: () => root, path: '/hosts', component: HostsScreen });
const send = createRoute({ getParentRoute: () => root, path: '/send', component: SendScreen });
const schedules = createRoute({ getParentRoute: () => root, path: '/schedules', component: SchedulesScreen });
const bulk = createRoute({ getParentRoute: () => root, path: '/bulk', component: BulkScreen });
const audit = createRoute({ getParentRoute: () => root, path: '/audit', component: AuditScreen });
const settings = createRoute({ getParentRoute: () => root, path: '/settings', component: SettingsScreen });
const sink = createRoute({ getParentRoute: () => root, path: '/sink', component: SinkScreen });

const routeTree = root.addChildren([
  index,
  messages.addChildren([message]),
  failures,
  topics,
  topic,
  overview,
  queues,
  hosts,
  send,
  schedules,
  bulk,
  audit,
  settings,
  sink,
]);

export function createConsoleRouter() {
  return createRouter({
    routeTree,
    basepath: CONSOLE_PATH,
    parseSearch,
    stringifySearch,
    defaultPreload: false,
    defaultErrorComponent: ScreenError,
    scrollRestoration: false,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}
