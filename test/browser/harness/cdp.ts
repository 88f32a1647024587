/**
 * A small client of the Chrome DevTools Protocol. Playwright attaches a debugger to every target, and a
 * debugged service worker never sleeps; this one attaches only where it is told to.
 */
import { once } from 'node:events';
import { WebSocket } from 'ws';

interface Answer {
  id?: number;
  method?: string;
  params?: Record<string, unknown>;
  sessionId?: string;
  result?: Record<string, unknown>;
  error?: { message: string };
}

interface Pending {
  resolve(result: Record<string, unknown>): void;
  reject(error: Error): void;
}

export interface TargetInfo {
  targetId: string;
  type: string;
  url: string;
  attached: boolean;
}

type EventListener = (params: Record<string, unknown>, sessionId: string | undefined) => void;

/** One connection to a browser. */
export class CdpConnection {
  private nextId = 1;
  private readonly pending = new Map<number, Pending>();
  private readonly listeners = new Map<string, Set<EventListener>>();

  private constructor(private readonly socket: WebSocket) {
    socket.on('message', (data) => this.receive(JSON.parse(String(data)) as Answer));
    socket.on('close', () => this.rejectAll(new Error('the browser is gone')));
    socket.on('error', () => this.rejectAll(new Error('the browser is gone')));
  }

  static async connect(url: string): Promise<CdpConnection> {
    const socket = new WebSocket(url, { perMessageDeflate: false, maxPayload: 256 * 1024 * 1024 });
    await once(socket, 'open');
    return new CdpConnection(socket);
  }

  send(
    method: string,
    params: Record<string, unknown> = {},
    sessionId?: string,
  ): Promise<Record<string, unknown>> {
    const id = this.nextId++;
    return new Promise((resolve, reject) => {
      if (this.socket.readyState !== WebSocket.OPEN) {
        reject(new Error('the browser is gone'));
        return;
      }
      this.pending.set(id, { resolve, reject });
      this.socket.send(JSON.stringify({ id, method, params, ...(sessionId ? { sessionId } : {}) }));
    });
  }

  /** Listens to an event of any session; returns how to stop. */
  on(method: string, listener: EventListener): () => void {
    const listeners = this.listeners.get(method) ?? new Set();
    this.listeners.set(method, listeners.add(listener));
    return () => listeners.delete(listener);
  }

  async targets(): Promise<TargetInfo[]> {
    const { targetInfos } = await this.send('Target.getTargets', { filter: [{}] });
    return targetInfos as TargetInfo[];
  }

  async attach(targetId: string): Promise<CdpSession> {
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    return new CdpSession(this, targetId, sessionId as string);
  }

  close(): void {
    this.socket.terminate();
  }

  private receive(answer: Answer): void {
    if (answer.id === undefined) {
      for (const listener of this.listeners.get(answer.method ?? '') ?? []) {
        listener(answer.params ?? {}, answer.sessionId);
      }
      return;
    }
    const pending = this.pending.get(answer.id);
    this.pending.delete(answer.id);
    if (answer.error) pending?.reject(new Error(answer.error.message));
    else pending?.resolve(answer.result ?? {});
  }

  private rejectAll(error: Error): void {
    for (const { reject } of this.pending.values()) reject(error);
    this.pending.clear();
  }
}

/** One attached target. */
export class CdpSession {
  constructor(
    readonly connection: CdpConnection,
    readonly targetId: string,
    readonly sessionId: string,
  ) {}

  send(method: string, params: Record<string, unknown> = {}): Promise<Record<string, unknown>> {
    return this.connection.send(method, params, this.sessionId);
  }

  /** Evaluates an expression (a promise is awaited) and returns its value by JSON. */
  async evaluate<T = unknown>(expression: string): Promise<T> {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', {
      expression,
      awaitPromise: true,
      returnByValue: true,
      userGesture: true,
    });
    if (exceptionDetails) {
      const { exception, text } = exceptionDetails as {
        exception?: { description?: string };
        text: string;
      };
      throw new Error(exception?.description ?? text);
    }
    return (result as { value: T }).value;
  }

  detach(): Promise<unknown> {
    return this.connection.send('Target.detachFromTarget', { sessionId: this.sessionId });
  }

  close(): Promise<unknown> {
    return this.connection.send('Target.closeTarget', { targetId: this.targetId });
  }
}
