/** Chooses options of a `<select>`, as a person does from the list that Chrome shows. */
import { AgentError } from '../protocol/errors';
import { controlOf } from './actionability';
import { describeElement, oneLine } from './describe-element';
import { mustFocus, sendChange } from './fill';
import { fits } from './tree';

export interface SelectOptions {
  /** Which property of an option is meant. */
  by: 'value' | 'label' | 'index';
  wanted: (string | number)[];
}

export interface Selected {
  selected: { value: string; label: string; index: number }[];
}

const MOST_NAMED = 12;

export function select(target: Element, { by, wanted }: SelectOptions): Selected {
  const element = controlOf(target);
  if (!(element instanceof HTMLSelectElement)) {
    throw new AgentError(
      'element_not_actionable',
      `The element ${describeElement(element)} is no <select>. A list made by the page is opened and chosen from with page_click.`,
    );
  }
  if (wanted.length !== 1 && !element.multiple) {
    throw new AgentError(
      'invalid_input',
      `input.${by} must name exactly one option: this list takes no more.`,
    );
  }
  const options = [...element.options];
  const chosen = wanted.map((one) => findOption(options, by, one));
  mustFocus(element);
  const before = options.map((option) => option.selected);
  if (element.multiple) for (const option of options) option.selected = chosen.includes(option);
  else if (chosen[0]) element.selectedIndex = options.indexOf(chosen[0]);
  if (options.some((option, index) => option.selected !== before[index])) {
    element.dispatchEvent(new Event('input', { bubbles: true, composed: true }));
    sendChange(element);
  }
  return { selected: selectedOf(element) };
}

export function selectedOf(element: HTMLSelectElement): Selected['selected'] {
  return [...element.selectedOptions].map((option) => ({
    value: option.value,
    label: option.label,
    index: option.index,
  }));
}

function findOption(
  options: readonly HTMLOptionElement[],
  by: SelectOptions['by'],
  wanted: string | number,
): HTMLOptionElement {
  const found =
    by === 'index'
      ? options[wanted as number]
      : (options.find((option) => option[by] === wanted) ??
        options.find(
          (option) => by === 'label' && oneLine(option.label, Infinity) === oneLine(String(wanted), Infinity),
        ));
  if (!found) {
    const named = options
      .slice(0, MOST_NAMED)
      .map((option) => `"${oneLine(by === 'value' ? option.value : option.label)}"`);
    const rest = options.length > named.length ? `, and ${options.length - named.length} more` : '';
    throw new AgentError(
      'invalid_input',
      `input.${by} names no option of this list. It has ${by === 'index' ? `${options.length} options` : `${named.join(', ')}${rest}`}.`,
    );
  }
  if (isDisabled(found)) {
    throw new AgentError('element_not_actionable', `The option "${oneLine(found.label)}" is disabled.`);
  }
  return found;
}

export function isDisabled(option: HTMLOptionElement): boolean {
  return fits(option, ':disabled') || (option.parentElement?.matches('optgroup:disabled') ?? false);
}
