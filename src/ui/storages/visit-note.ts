/**
 * What the page tells itself across leaving and coming back, and what the popup's Repair tells it: in the fragment of the
 * address, which no server sees. Pure.
 */

/**
 * `view`: a folder was dropped, Chrome must be asked for the first time. `finish`: a folder was granted for the first time, Chrome must be asked once more. `check`: Chrome was asked, and what
 * it still grants is kept. `repair`: a person wants to repair it.
 */
export type VisitStep = 'view' | 'finish' | 'check' | 'repair';

export interface VisitNote {
  step: VisitStep;
  storage_id: string;
}

const STEPS: readonly string[] = ['view', 'finish', 'check', 'repair'] satisfies VisitStep[];

export function writeVisitNote({ step, storage_id }: VisitNote): string {
  return `#${step}=${encodeURIComponent(storage_id)}`;
}

/** Null for anything else. */
export function readVisitNote(fragment: string): VisitNote | null {
  const [step = '', encoded = ''] = fragment.replace(/^#/, '').split('=', 2);
  if (!STEPS.includes(step) || encoded === '') return null;
  try {
    return { step: step as VisitStep, storage_id: decodeURIComponent(encoded) };
  } catch {
    return null;
  }
}
