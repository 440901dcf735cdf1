// The catalogue of everything that can be wrong with a request: a stable code, its HTTP status, and what it means.
// docs/errors.md is made from it. A Problem is a value; inbound/ turns it into a response in one place.

export const PROBLEMS = {
  bad_request: [400, 'The request is not valid HTTP, or it lacks something that every request needs.'],
  bad_json: [400, 'The body is not valid JSON.'],
  bad_body: [400, 'The JSON body does not have the structure that this call needs.'],
  bad_parameter: [400, 'A path or query parameter has a value that this call does not accept.'],
  bad_destination: [400, 'The destination is neither a usable http(s) URL nor a valid topic name.'],
  bad_queue_name: [400, 'A queue name is 1 to 128 letters, digits, "-", "_" or ".".'],
  bad_header: [400, 'A header that controls a delivery has a value that is not valid.'],
  bad_forward_header: [400, 'A header cannot be forwarded: its name or value is not allowed.'],
  bad_filter: [
    400,
    'A filter of a list or a bulk call is not valid, or a bulk call has no filter and does not select all.',
  ],
  bad_alert: [400, 'The rule or the target of an alert is not valid. The error text names everything that is wrong.'],
  bad_cron: [400, 'The cron expression of a schedule is missing or not valid.'],
  in_queue: [
    400,
    'A message in a queue must wait for its turn. The only exception is a head that waits after crashes interrupted its attempts.',
  ],
  not_supported: [400, 'The request needs something that this service does not have, such as a workflow.'],
  batch_too_long: [400, 'A batch has more elements than the server accepts.'],
  loop_detected: [400, 'The message came back to this service too often: its destination is the service itself.'],
  unauthorized: [401, 'There is no Authorization header, or its token is not valid.'],
  forbidden: [
    403,
    'The token is valid but lacks the scope that this call needs, or the request comes from a web page of another site.',
  ],
  account_suspended: [
    403,
    'The operator has suspended the account. It can only read and delete, and its messages wait.',
  ],
  not_found: [404, 'There is no such path.'],
  message_not_found: [404, 'There is no such message, or its retention time is over.'],
  topic_not_found: [404, 'There is no topic with that name or id.'],
  account_not_found: [404, 'There is no such account.'],
  token_not_found: [404, 'There is no such token, or it was already revoked.'],
  queue_not_found: [404, 'There is no queue with that name.'],
  schedule_not_found: [404, 'There is no schedule with that id.'],
  alert_not_found: [404, 'There is no alert with that id.'],
  dead_letter_not_found: [404, 'There is no such dead letter, or it was deleted, or its retention time is over.'],
  flow_key_not_found: [404, 'There is no flow-control key with that name.'],
  host_not_found: [404, 'The account has sent nothing to that host in the last week.'],
  ack_not_found: [404, 'There is no such ack URL: its secret is not one that this service has made.'],
  job_not_found: [404, 'There is no such bulk operation, or it has ended.'],
  method_not_allowed: [405, 'The path exists, but not with this method.'],
  body_too_slow: [408, 'The body of the request arrived too slowly. The connection was closed.'],
  request_timeout: [408, 'The request did not arrive in time. The connection was closed.'],
  already_retried: [409, 'The dead letter was already sent again. The error text names the new message.'],
  conflict: [
    409,
    'The name or deduplication id is already in use, or other requests are changing the same topic or schedule.',
  ],
  advance_too_long: [
    409,
    'Only in dev: too much became due in one advance of the manual clock. It stopped halfway; advance again to continue.',
  ],
  clock_not_manual: [409, 'Only in dev: the clock is the real one. A clock that can be moved needs `--clock manual`.'],
  last_admin_token: [
    409,
    'This is the last token with the scope `admin` that does not expire, so it cannot be revoked.',
  ],
  session_active: [409, 'Somebody is already signed in to the console in this browser, with another token.'],
  topic_empty: [409, 'The topic has no endpoints, so the message has no destination.'],
  message_active: [
    409,
    'An attempt of the message is under way, or it is being cancelled, so it cannot be changed. Try again when the attempt has ended.',
  ],
  message_held: [409, 'The message is held, because it may have crashed the server: release it, or cancel it.'],
  message_redacted: [
    409,
    'The message has redacted parts, so a change can send it elsewhere only if it replaces these parts. The error text names them.',
  ],
  not_held: [409, 'The message is not held. Only a held message can be released.'],
  queue_not_empty: [409, 'The queue has messages that have not ended; cancel them first, or use force=true.'],
  ack_gone: [
    410,
    'The attempt no longer awaits an ack: it was given up, retried or cancelled, or it has ended otherwise.',
  ],
  version_changed: [
    412,
    'The message no longer has the version in `If-Match`: it was changed, or an attempt has ended. Read it again.',
  ],
  limit_exceeded: [412, "The request exceeds a limit of the account's tier."],
  storage_exceeded: [
    412,
    'The account would store more bytes than its tier allows. Delete dead letters, cancel messages, or wait until ended messages expire.',
  ],
  body_in_pieces: [413, 'The body arrived in too many small chunks. Send larger chunks.'],
  request_too_large: [413, 'The whole request exceeds the hard limit of the server.'],
  unsupported_encoding: [
    415,
    'The request body is compressed. The service forwards bodies unchanged and never decompresses them.',
  ],
  misdirected: [421, 'Only in dev: the request is for a host name that this server does not accept.'],
  headers_too_large: [431, 'The request line and headers together are larger than the server reads.'],
  quota_exceeded: [429, 'The account has used up what its tier allows for today.'],
  share_used: [
    429,
    'The account has used up its share of a resource that all accounts share. Try again when some of its work has ended.',
  ],
  internal: [500, 'An error inside the server. The log has the details under the request id.'],
  unsupported_transfer_encoding: [
    501,
    'The body has a transfer coding other than chunked. The service does not decompress bodies.',
  ],
  overloaded: [503, 'The server is busy and has no room for more work. Try again shortly.'],
  store_unavailable: [503, 'The store did not respond, or takes no writes. Nothing was accepted.'],
  outcome_unknown: [
    503,
    'The store did not confirm: the connection was lost, or the commit took too long. The call may or may not have taken effect.',
  ],
  disk_full: [503, 'The disk is too full to accept messages. Deliveries continue.'],
  store_gone: [
    503,
    'The files or the tables of the store were removed or replaced while the server was running. Nothing is accepted or changed. With a data directory, deliveries continue.',
  ],
  clock_off: [
    503,
    'The clock of this node and the clock of the database do not run at the same speed. The node sends nothing until they do. Other nodes continue.',
  ],
  deliver_only: [503, 'This node only delivers: its role is deliver. Publish to another node.'],
  draining: [503, 'This node is shutting down and accepts no new messages.'],
  unsupported_version: [505, 'The request is of a version of HTTP other than 1.1 or 1.0.'],
} as const satisfies Record<string, readonly [status: number, meaning: string]>;

export type ProblemCode = keyof typeof PROBLEMS;

export interface Problem {
  readonly code: ProblemCode;
  /** The text that the caller sees: what is wrong, in which field, and what to do. */
  readonly message: string;
}

export function problem(code: ProblemCode, message: string): { readonly problem: Problem } {
  return { problem: { code, message } };
}
