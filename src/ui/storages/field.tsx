/** A line of text with its label, and below it a help or what is wrong with it. */
import type { JSX } from 'preact';

interface Props {
  id: string;
  label: string;
  help: string;
  problem: string | null;
  value: string;
  mono?: boolean;
  onChange(value: string): void;
  /** The cursor goes elsewhere. */
  onLeave?(): void;
}

export function Field({
  id,
  label,
  help,
  problem,
  value,
  mono = false,
  onChange,
  onLeave,
}: Props): JSX.Element {
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        type="text"
        class={mono ? 'verbatim' : ''}
        spellcheck={false}
        autocomplete="off"
        autocapitalize="off"
        aria-describedby={`${id}-note`}
        aria-invalid={problem !== null}
        value={value}
        onInput={(event) => onChange(event.currentTarget.value)}
        onBlur={onLeave}
      />
      <p id={`${id}-note`} class="note" role="status" data-wrong={problem !== null}>
        {problem ?? help}
      </p>
    </div>
  );
}
