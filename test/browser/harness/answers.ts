/** What a request came to, however often it was answered, and the effect that is counted: a visit to the site. */
import { expect } from 'vitest';
import type { ErrorCode } from '../../../src/protocol/errors';
import type { ToolResponseFrame } from '../../../src/protocol/frames';
import { responses } from './frames';
import type { World } from './world';

export function outcomeOf(frame: ToolResponseFrame): 'ok' | ErrorCode {
  return frame.status === 'ok' ? 'ok' : frame.error_code;
}

/** How often the page was asked for. */
export function visitsTo(world: World, path: string): number {
  return world.site.visits.filter((visited) => visited === path).length;
}

/** Every answer an id got as its own outcome: a conflict belongs to another request under its name. */
export function outcomes(world: World, id: string): ToolResponseFrame[] {
  return responses(world, id).filter((frame) => outcomeOf(frame) !== 'request_id_conflict');
}

/** The one answer this id has, however often it was given. */
export function theAnswer(world: World, id: string): ToolResponseFrame {
  const different = new Set(outcomes(world, id).map((frame) => JSON.stringify(frame)));
  expect(different.size, `different answers of ${id}`).toBe(1);
  return outcomes(world, id)[0] as ToolResponseFrame;
}
