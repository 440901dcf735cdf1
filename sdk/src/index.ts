// Everything that the SDK exports.

export { type AckWord, acknowledge } from './acknowledge.ts';
export type { AlertRequest, AlertRuleRequest } from './alert-request.ts';
export type {
  AcceptedMessage,
  AcceptedMessages,
  BatchElement,
  BatchOptions,
  BatchSlot,
  BatchSlots,
  Refused,
} from './batch.ts';
export type { Call, PublishSettings } from './call.ts';
export * as calls from './calls.ts';
export { type AnswerOf, type Calls, type Client, createClient, type Publish } from './client.ts';
export { type CurlOptions, curl } from './curl.ts';
export type { ErrorCode } from './error-codes.ts';
export { PartlyDoneError, PostriderError, UnreachableError } from './errors.ts';
export type { StreamedEvent, StreamOptions, TailedEvent, TailOptions } from './event-stream.ts';
export type {
  AuditQuery,
  DeadLetterQuery,
  DeadLetterSelection,
  MessageQuery,
  MessageSelection,
} from './message-query.ts';
export type { Listing } from './pages.ts';
export { type EndedMessage, Postrider } from './postrider.ts';
export type { PublishRequest, ScheduleRequest, TopicRequest, UrlRequest } from './publish-request.ts';
export {
  type Delivery,
  doNotRetry,
  retryAfter,
  SignatureError,
  type SignedRequest,
  type Verdict,
  type VerifyOptions,
  verify,
  verifySignature,
  verifyWebhook,
} from './receiver.ts';
export { type ClientOptions, type RetryOptions, retry } from './retry.ts';
export {
  type ConnectionOptions,
  connect,
  DEFAULT_PREFIX,
  headersOf,
  type RetryPolicy,
  type Send,
  type SendOptions,
} from './send.ts';
export type { SettingName } from './setting-names.ts';
export type * from './setting-options.ts';
export type * from './shapes.ts';
