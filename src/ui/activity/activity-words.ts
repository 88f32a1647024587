/** An activity entry in words. Pure. */
import type { ActivityEntry } from '../../settings/activity';
import type { MessageKey, Texts } from '../i18n';

export interface ToolWords {
  text: string;
  /** True for a tool we have no words for: then the text is what the platform asked for, character by character. */
  verbatim: boolean;
}

export function toolInWords(tool: string, { known }: Texts): ToolWords {
  // Message keys are read without regard to case; a name in another case is another name.
  const words = /^[a-z_]+$/.test(tool) ? known(`tool_${tool}`) : null;
  return words === null ? { text: tool, verbatim: true } : { text: words, verbatim: false };
}

/** The tool of an entry: with the one behind it when it stood for another. */
export function entryInWords(
  { tool, behind }: Pick<ActivityEntry, 'tool' | 'behind'>,
  texts: Texts,
): ToolWords {
  const words = toolInWords(tool, texts);
  return behind === undefined
    ? words
    : { ...words, text: `${words.text}: ${toolInWords(behind, texts).text}` };
}

export function outcomeInWords(
  { outcome, asked }: Pick<ActivityEntry, 'outcome' | 'asked'>,
  { t, known }: Texts,
): string {
  const key: MessageKey = `outcome_${outcome}`;
  const words = known(key) ?? t('outcome_internal_error');
  // That the person declined, or still has to answer, is the outcome itself.
  if (asked === 'allowed') return `${words} · ${t('asked_allowed')}`;
  return asked === 'unanswered' ? `${words} · ${t('asked_unanswered')}` : words;
}
