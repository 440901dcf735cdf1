// What publishing needs of a response, whoever writes it: Node, or the connection of a publisher.

export interface CallerResponse {
  readonly destroyed: boolean;
  setHeader(name: string, value: string): unknown;
  /** Names and values in turn. */
  writeHead(status: number, headers: string[]): CallerResponse;
  end(text: string): unknown;
  on(event: 'close', listener: () => void): unknown;
}
