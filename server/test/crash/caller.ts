// The API of a server that is killed and started again, at another address each time.

export interface Listed {
  readonly messageId: string;
  readonly state: string;
  readonly debounceKey?: string;
}

export class Caller {
  api = '';
  token = '';
  isUp = false;
  isOver = false;

  async call<T>(method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<T> {
    const init = { method, headers: { Authorization: `Bearer ${this.token}`, ...headers } };
    const response = await fetch(`${this.api}${path}`, body === undefined ? init : { ...init, body });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async listed(states: readonly string[]): Promise<Listed[]> {
    const filter = states.map((state) => `state=${state}`).join('&');
    return (await this.call<{ messages: Listed[] }>('GET', `/v2/messages?${filter}&count=1000`)).messages;
  }

  async isDone(): Promise<boolean> {
    return (await this.listed(['CREATED', 'ACTIVE', 'RETRY', 'ERROR'])).length === 0;
  }
}
