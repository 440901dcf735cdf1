// How an exchange on an established connection can fail, apart from errors of the system.

/** The answer cannot be read as HTTP. The message continues "answer is not HTTP:" and is for people. */
export class NotHttpError extends Error {}

/** The receiver closed the connection. */
export class ClosedError extends Error {}

/** A connection that had served before was gone when the request was to be written. Not a byte of it was. */
export class UnwrittenError extends Error {}
