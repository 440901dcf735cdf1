// The catalogue of everything that can be wrong with a request: a stable code, its HTTP status, and what it means.
// docs/errors.md is made from it. A Problem is a value; http/ turns it into a response in one place.

export const PROBLEMS = {
  bad_request: [400, 'The request cannot be read as HTTP or lacks something every request needs.'],
  bad_json: [400, 'The body is not valid JSON.'],
  bad_body: [400, 'The JSON body does not have the shape this call takes.'],
  bad_parameter: [400, 'A path or query parameter has a value this call does not take.'],
  bad_destination: [400, 'The destination is neither a usable http(s) URL nor a valid topic name.'],
  bad_queue_name: [400, 'A queue name is 1 to 128 letters, digits, "-", "_" or ".".'],
  bad_header: [400, 'One of the headers that steer a delivery has a value it does not take.'],
  bad_forward_header: [400, 'A header to forward cannot be sent: its name or value is not allowed on the wire.'],
  bad_filter: [400, 'A filter of a list or a bulk call is unknown, or missing where all would be meant.'],
  bad_cron: [400, 'The cron expression of a schedule is missing or not valid.'],
  in_queue: [400, 'A message in a queue has its turn; it cannot be delivered before the others.'],
  batch_too_long: [400, 'A batch holds more elements than the server takes.'],
  loop_detected: [400, 'The message has come back to this service too often: its destination is the service itself.'],
  unauthorized: [401, 'There is no Authorization header, or its token is not valid.'],
  forbidden: [403, 'The token is valid but lacks the scope this call needs; or a page of another site asks.'],
  not_found: [404, 'There is no such path.'],
  message_not_found: [404, 'There is no such message, or it is past its retention.'],
  topic_not_found: [404, 'There is no topic with that name or id.'],
  account_not_found: [404, 'There is no such account.'],
  token_not_found: [404, 'There is no such token, or it is revoked already.'],
  queue_not_found: [404, 'There is no queue with that name.'],
  schedule_not_found: [404, 'There is no schedule with that id.'],
  dead_letter_not_found: [404, 'There is no such dead letter, or it was deleted, or is past its retention.'],
  flow_key_not_found: [404, 'There is no flow-control key of that name.'],
  job_not_found: [404, 'There is no such bulk operation, or it has ended.'],
  method_not_allowed: [405, 'The path exists, but not with this method.'],
  body_too_slow: [408, 'The body of the request came too slowly. The connection was closed.'],
  request_timeout: [408, 'The request did not arrive in time. The connection was closed.'],
  already_retried: [409, 'The dead letter was sent again already. The message says as which one.'],
  conflict: [409, 'Something with that name exists already.'],
  last_admin_token: [409, 'The token is the last one that may administer, so it cannot be revoked.'],
  session_active: [409, 'Somebody is signed in to the console already, with another token.'],
  topic_empty: [409, 'The topic has no endpoints, so there is nowhere to deliver to.'],
  message_held: [409, 'The message is held, because it may be what brought the server down: release it, or cancel it.'],
  not_held: [409, 'Only a held message can be released, and this one is not.'],
  queue_not_empty: [409, 'The queue has messages that have not ended; cancel them first, or say force=true.'],
  limit_exceeded: [412, "The request is over one of the limits of the account's tier."],
  body_in_pieces: [413, 'The body came in too many short pieces. Send it in larger chunks.'],
  request_too_large: [413, 'The request as a whole is over the hard limit of the server.'],
  unsupported_encoding: [415, 'The request body is compressed; bodies are passed on as they are and never unpacked.'],
  misdirected: [421, 'In development: the request is for a host name that this server does not answer to.'],
  headers_too_large: [431, 'The request line and headers together are larger than the server reads.'],
  quota_exceeded: [429, 'The account has used up what its tier allows for today.'],
  share_used: [
    429,
    'The account holds its share of something that all accounts use together. Try again when some of it has ended.',
  ],
  internal: [500, 'A fault of the server. It is in its log under the request id.'],
  overloaded: [503, 'The server has as much waiting work as it may hold. Try again shortly.'],
  store_unavailable: [503, 'The store did not answer. Nothing was accepted.'],
  outcome_unknown: [503, 'The store went away before it confirmed. The call may or may not have taken effect.'],
  disk_full: [503, 'The disk is too full to accept messages. Deliveries go on.'],
  store_gone: [
    503,
    'The files of the store were removed or replaced while the server runs. Nothing is accepted or changed; deliveries go on.',
  ],
  clock_off: [
    503,
    'The clock of this node does not run evenly with that of the database. It sends nothing until it does; others go on.',
  ],
  deliver_only: [503, 'This node only delivers: its role is deliver. Publish to another.'],
  draining: [503, 'This node is shutting down and accepts nothing new.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>;

export type ProblemCode = keyof typeof PROBLEMS;

export interface Problem {
  readonly code: ProblemCode;
  /** What is wrong, which field, what to do. Shown to the caller. */
  readonly message: string;
}

export function problem(code: ProblemCode, message: string): { readonly problem: Problem } {
  return { problem: { code, message } };
}
