/** What went between a world's relay and its device about one request id. */
import type { ToolResponseFrame } from '../../../src/protocol/frames';
import type { JsonObject } from '../../../src/protocol/json';
import type { LoggedFrame } from '../../fake-relay/traffic';
import type { World } from './world';

/** The bare `tool_request` frame, for tests that send it themselves. */
export function request(id: string, command: string, input: JsonObject, timeout_ms = 30_000): JsonObject {
  return { type: 'tool_request', id, command, input, timeout_ms };
}

/** Every answer of that id that has come, in order. */
export function responses({ relay }: World, id: string): ToolResponseFrame[] {
  return framesOf(relay.received, 'tool_response', id).map(({ json }) => json as ToolResponseFrame);
}

/** Every ack of that id that has come. */
export function acks({ relay }: World, id: string): LoggedFrame[] {
  return framesOf(relay.received, 'tool_ack', id);
}

function framesOf(frames: LoggedFrame[], type: string, id: string): LoggedFrame[] {
  return frames.filter((frame) => {
    const json = frame.json as JsonObject | undefined;
    return json?.type === type && json.id === id;
  });
}
