// Shows the last requests to the built-in receiver, in development only.

import { headerMap } from '../../../../rules/delivery/callback.ts';
import type { Sink } from '../../../console/sink.ts';
import type { Api } from '../../api.ts';
import { NothingAnswer, SinkRequestsAnswer } from '../../shapes/answers.ts';
import { shownBody } from '../../shapes/message-view.ts';

export function sinkRoutes(api: Api, sink: Sink): void {
  api.add({
    method: 'GET',
    path: '/v2/dev/requests',
    scope: 'read',
    summary: 'The last requests of the built-in receiver, newest first',
    answer: SinkRequestsAnswer,
    isRead: false,
    handle: async () => ({
      requests: sink.requests.map(({ id, at, method, url, headers, body, isBodyCut, status }) => ({
        id,
        at,
        method,
        url,
        header: headerMap(headers),
        ...shownBody('body', body),
        ...(isBodyCut && { isBodyCut: true }),
        ...(status !== null && { status }),
      })),
    }),
  });

  api.add({
    method: 'DELETE',
    path: '/v2/dev/requests',
    audit: 'none',
    scope: 'manage',
    summary: 'Delete the recorded requests of the built-in receiver',
    answer: NothingAnswer,
    handle: async () => {
      sink.forget();
      return {};
    },
  });
}
