// The methods that publishing needs of a response. node:http and publisher-connection.ts each have a class with them.

export interface CallerResponse {
  readonly destroyed: boolean;
  setHeader(name: string, value: string): unknown;
  /** `headers` is a flat list: a name, its value, the next name, … */
  writeHead(status: number, headers: string[]): CallerResponse;
  end(text: string): unknown;
  on(event: 'close', listener: () => void): unknown;
}
