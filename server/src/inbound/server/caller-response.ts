// What publishing needs of a response, whether node:http writes it or a publisher's connection.

export interface CallerResponse {
  readonly destroyed: boolean;
  setHeader(name: string, value: string): unknown;
  /** `headers` has names and values in turn. */
  writeHead(status: number, headers: string[]): CallerResponse;
  end(text: string): unknown;
  on(event: 'close', listener: () => void): unknown;
}
