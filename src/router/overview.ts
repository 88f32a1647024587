/** What the popup shows beside the connection (ui.md, Popup): never the token. */
import type { Overview } from '../platform/messages';
import type { ActivityEntry } from '../settings/activity';
import { enrollmentHost } from '../settings/enrollment';
import { MOST_PROBLEMS } from '../settings/managed-policy';
import type { Settings } from '../settings/settings-store';
import type { PermissionSubject } from '../settings/tool-permissions';
import type { Confirmation } from './confirmation';
import type { LastPicture } from './last-picture';
import { unknownPermissions } from './permission-settings';

const ENTRIES_SHOWN = 5;

export interface OverviewOptions {
  settings: Pick<Settings, 'glance'>;
  listActivity(limit: number): Promise<ActivityEntry[]>;
  lastPicture: LastPicture;
  confirmation: Pick<Confirmation, 'waiting'>;
  /** Every tool there is. */
  tools: readonly PermissionSubject[];
  version: string;
}

export async function overview(options: OverviewOptions): Promise<Overview> {
  const [settings, activity, last_picture, questions] = await Promise.all([
    options.settings.glance(),
    // A failing database costs the list, not the popup.
    options.listActivity(ENTRIES_SHOWN).catch(() => []),
    options.lastPicture(),
    options.confirmation.waiting(),
  ]);
  const { enrollment, allow_user_enrollment, allow_pause, allow_local_folders } = settings;
  const { managed, paused, policy_problems } = settings;
  return {
    enrollment: enrollment && { source: enrollment.source, host: enrollmentHost(enrollment.endpoint) },
    allow_user_enrollment,
    allow_pause,
    allow_local_folders,
    managed,
    paused,
    policy_problems: [...policy_problems, ...unknownPermissions(settings.policy, options.tools)]
      .slice(0, MOST_PROBLEMS)
      .map(({ key, reason }) => ({ key, reason })),
    version: options.version,
    activity,
    last_picture,
    questions: questions.map(({ question_id, tool, page, details, deadline }) => ({
      question_id,
      tool,
      page: page && { host: page.host, title: page.title },
      details,
      deadline,
    })),
  };
}
