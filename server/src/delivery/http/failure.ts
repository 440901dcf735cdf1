// The ways in which an exchange can fail beside system errors, and the errors of Node.js and undici as text for the
// reader of the delivery log. It does not decide what an error means for the message.

/** The response cannot be read as HTTP. Users see the text of this error, after "response is not HTTP:". */
export class NotHttpError extends Error {}

/** The receiver closed the connection. */
export class ClosedError extends Error {}

/** A reused connection was closed before the request was written. Not a byte of it was sent. */
export class UnwrittenError extends Error {}

interface SystemError extends Error {
  readonly code?: string;
  readonly address?: string;
  readonly port?: number;
  /** OpenSSL's short reason. It is shown in place of the error's message, which describes OpenSSL's internals. */
  readonly reason?: string;
}

export function lookupErrorText(error: SystemError, hostname: string): string {
  switch (error.code) {
    case 'ENOTFOUND':
    case 'EAI_NONAME':
    case 'EAI_NODATA':
    case 'ENODATA':
      return `name not found: ${hostname}`;
    case 'EAI_AGAIN':
      return `the name server does not respond for ${hostname} at the moment`;
    default:
      return `name lookup failed for ${hostname}: ${error.code ?? error.message}`;
  }
}

/** `host` is the requested host. `byName`: the text names only this host. `byAddress`: it names the address tried. */
export function connectErrorText(error: SystemError, host: string, naming: 'byName' | 'byAddress'): string {
  if (error instanceof AggregateError && error.errors.length > 0) {
    return [...new Set((error.errors as SystemError[]).map((each) => connectErrorText(each, host, naming)))].join('; ');
  }
  const address = error.address?.includes(':') ? `[${error.address}]` : error.address;
  const where = address === undefined || naming === 'byName' ? host : `${address}:${error.port}`;
  switch (error.code) {
    case 'ECONNREFUSED':
      return `connection refused by ${where}`;
    case 'ECONNRESET':
      return `connection reset by ${where}`;
    case 'ETIMEDOUT':
      return `no connection to ${where}: it does not respond`;
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
    case 'EADDRNOTAVAIL':
      return `no route to ${where}`;
    case 'EMFILE':
    case 'ENFILE':
      return `this server has no file handle left to connect to ${where} (${error.code})`;
    default:
      return `no connection to ${where}: ${error.code ?? error.message}`;
  }
}

export function tlsErrorText(error: SystemError): string {
  if (error.code === 'ECONNRESET' || error.code === 'EPIPE') return 'TLS: connection closed during the handshake';
  if (error.code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `TLS: certificate is for another name: ${error.reason}`;
  const hint = error.code === 'ERR_SSL_WRONG_VERSION_NUMBER' ? ' (the port may not use TLS)' : '';
  return `TLS: ${error.reason ?? error.message}${hint}`;
}

/**
 * The text for an error of undici, found by the error's message: undici has one code for all errors of a socket. Null
 * if there is no text.
 */
function undiciWords({ message }: SystemError): string | null {
  if (message === 'bad upgrade') {
    return 'response is not HTTP: it switches protocols, which the request did not ask for';
  }
  return message === 'bad response' ? 'response is not HTTP: it does not belong to the request' : null;
}

/** What happened to an exchange on an established connection, as text. */
export function exchangeErrorText(error: SystemError, isAnswerBegun: boolean): string {
  const until = isAnswerBegun ? 'before the response was complete' : 'before a response';
  if (error instanceof ClosedError) return `connection closed ${until}`;
  switch (error.code) {
    case 'ECONNRESET':
      return `connection reset ${until}`;
    case 'EPIPE':
      return `connection closed ${until}`;
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      return isAnswerBegun ? `connection closed ${until}` : 'response is not HTTP: its headers contradict each other';
    case 'UND_ERR_SOCKET':
      return undiciWords(error) ?? `connection closed ${until}`;
    default:
      break;
  }
  // Compared by name, because undici is loaded only when a destination has HTTPS.
  if (error.name === 'HTTPParserError') {
    return `response is not HTTP: ${/\((.*)\)$/.exec(error.message)?.[1] ?? error.message}`;
  }
  if (error.code?.startsWith('ERR_SSL_')) return tlsErrorText(error);
  return `connection failed ${until}: ${error.code ?? error.message}`;
}
