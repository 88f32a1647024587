/**
 * What the service worker does for the other contexts: every message of `RouterMessages`, each to the part
 * that knows. It decides nothing itself.
 */
import type {
  ConnectionState,
  RequestText,
  RouterMessages,
  ScreenFacts,
  StorageOverview,
} from '../platform/messages';
import type { Handlers } from '../platform/messaging';
import { ACTIVITY_KEPT, type ActivityEntry } from '../settings/activity';
import { parseEnrollment } from '../settings/enrollment';
import type { Settings } from '../settings/settings-store';
import type { PermissionSubject } from '../settings/tool-permissions';
import type { Confirmation } from './confirmation';
import type { Dial } from './dial';
import type { Dispatch } from './dispatch';
import type { LastPicture } from './last-picture';
import { overview } from './overview';
import { isSettable, permissionSettings } from './permission-settings';

export interface RouterOptions {
  dispatch: Dispatch;
  sawScreen(screen: ScreenFacts): void;
  /** Null: what was seen before may be of another time. */
  sawStorages(storages: StorageOverview[] | null): void;
  dial: Dial;
  settings: Settings;
  listActivity(limit: number): Promise<ActivityEntry[]>;
  lastPicture: LastPicture;
  confirmation: Pick<Confirmation, 'waiting' | 'answer'>;
  /** Every tool there is, in the order of the catalogue. */
  tools: readonly PermissionSubject[];
  /** Removes every picture; nobody is to see them after the enrollment is gone. */
  clearPictures(): Promise<void>;
  showConnection(connection: ConnectionState): Promise<void>;
  ensureOffscreen(): Promise<void>;
  /** The extension's version. */
  version: string;
}

export function createRouter(options: RouterOptions): Handlers<RouterMessages> {
  const { dispatch, dial, settings } = options;
  return {
    'dial.prepare': () => dial.prepare(),
    'dial.handshake_status': () => dial.handshakeStatus(),
    async 'dial.token_stopped'({ enrollment_id }) {
      await dial.tokenStopped(enrollment_id);
      return {};
    },
    'request.run'({ request, remaining_ms, screen, storages, cancelled }) {
      options.sawScreen(screen);
      options.sawStorages(storages);
      return dispatch.run(readRequest(request), remaining_ms, cancelled);
    },
    async 'request.settle'({ request, code }) {
      return { answer: await dispatch.settle(readRequest(request), code) };
    },
    async 'request.cancel'({ id }) {
      dispatch.cancel(JSON.parse(id) as string);
      return {};
    },
    async 'connection.changed'({ connection }) {
      await options.showConnection(connection);
      return {};
    },
    'overview.get': () => overview(options),
    async 'enrollment.save'({ text }) {
      const parsed = parseEnrollment(text);
      if (!parsed.ok) return { saved: false, problem: parsed.problem };
      return settings.saveEnrollment(parsed.enrollment);
    },
    async 'enrollment.forget'() {
      await settings.forgetEnrollment();
      await options.clearPictures().catch(() => undefined);
      return {};
    },
    async 'pause.set'({ paused }) {
      const { allow_pause } = await settings.glance();
      if (allow_pause || !paused) await settings.setPaused(paused);
      return {};
    },
    async 'question.answer'({ question_id, allow }) {
      return { counted: await options.confirmation.answer(question_id, allow === true) };
    },
    async 'permissions.get'() {
      return { permissions: permissionSettings(await settings.glance(), options.tools) };
    },
    async 'permissions.set'({ name, permission }) {
      const before = permissionSettings(await settings.glance(), options.tools);
      if (isSettable(before, name)) await settings.setToolPermission(name, permission);
      return { permissions: permissionSettings(await settings.glance(), options.tools) };
    },
    async 'urls.lists'() {
      const { url_allowlist, url_blocklist } = (await settings.settled()).policy;
      return { url_allowlist, url_blocklist };
    },
    async 'activity.list'() {
      return { activity: await options.listActivity(ACTIVITY_KEPT) };
    },
    async 'offscreen.ensure'() {
      await options.ensureOffscreen();
      return {};
    },
  };
}

/** Written by the relay host of this very extension. */
function readRequest(text: string): RequestText {
  return JSON.parse(text) as RequestText;
}
