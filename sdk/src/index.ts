// Everything that the SDK exports.

export { type AnswerOf, type Call, type Calls, calls, type PublishRequest, type PublishSettings } from './calls.ts';
export {
  type Client,
  type ClientOptions,
  createClient,
  DEFAULT_PREFIX,
  headersOf,
  type StreamOptions,
} from './client.ts';
export { type CurlOptions, curl } from './curl.ts';
export { PostriderError, UnreachableError } from './errors.ts';
export type { StreamedEvent } from './event-stream.ts';
export { type SignedRequest, type Verdict, verifySignature } from './receiver.ts';
export type { SettingName } from './setting-names.ts';
export type * from './shapes.ts';
