/** A class of tools with its permission, and under it each tool with its own. */
import type { JSX } from 'preact';
import type { ClassPermissionState, ToolPermissionState } from '../../platform/messages';
import type { ToolPermission } from '../../settings/managed-policy';
import { toolInWords } from '../activity/activity-words';
import type { Texts } from '../i18n';
import { PermissionChoice } from './permission-choice';

interface Props {
  group: ClassPermissionState;
  texts: Texts;
  onChange(name: string, permission: ToolPermission | null): void;
}

export function PermissionClass({ group, texts, onChange }: Props): JSX.Element {
  const { t } = texts;
  const heading = `class-${group.class}`;
  const name = t(`class_${group.class}`);
  return (
    <section class="class" aria-labelledby={heading}>
      <div class="row class-row">
        <div class="what">
          <h3 id={heading}>{name}</h3>
          <p class="hint">{t(`class_${group.class}_note`)}</p>
        </div>
        <PermissionChoice
          name={name}
          state={group}
          chosen={group.permission}
          inherited={null}
          texts={texts}
          onChange={(permission) => onChange(group.class, permission)}
        />
      </div>
      <ul>
        {group.tools.map((tool) => (
          <ToolRow key={tool.name} tool={tool} group={group} texts={texts} onChange={onChange} />
        ))}
      </ul>
    </section>
  );
}

interface ToolRowProps extends Props {
  tool: ToolPermissionState;
}

function ToolRow({ tool, group, texts, onChange }: ToolRowProps): JSX.Element {
  const { t } = texts;
  const words = toolInWords(tool.name, texts);
  const inherited = t(tool.inherited === group.permission ? 'permission_inherited' : 'permission_usual', [
    t(`permission_${tool.inherited}`),
  ]);
  return (
    <li class="row">
      <div class="what">
        <span class={words.verbatim ? 'verbatim' : ''}>{words.text}</span>{' '}
        {!words.verbatim && <code class="hint">{tool.name}</code>}
      </div>
      <PermissionChoice
        name={words.text}
        state={tool}
        chosen={tool.own}
        inherited={inherited}
        texts={texts}
        onChange={(permission) => onChange(tool.name, permission)}
      />
    </li>
  );
}
