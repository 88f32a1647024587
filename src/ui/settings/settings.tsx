/** The settings page's shell: the one place where it talks to the browser and to the router. */
import { render } from 'preact';
import { browser } from '../../platform/browser';
import { send } from '../../platform/messaging';
import { createTexts, labelDocument } from '../i18n';
import { SettingsApp } from './settings-app';

const texts = createTexts(browser.i18n);

function onSettings(changed: () => void): () => void {
  const listener = (_changes: object, area: string): void => {
    if (area === 'local' || area === 'managed') changed();
  };
  browser.storage.onChanged.addListener(listener);
  return () => browser.storage.onChanged.removeListener(listener);
}

labelDocument(document, texts, 'settings_page_title');
render(
  <SettingsApp
    texts={texts}
    onSettings={onSettings}
    getPermissions={async () => (await send('permissions.get', {})).permissions}
    setPermission={async (name, permission) =>
      (await send('permissions.set', { name, permission })).permissions
    }
  />,
  document.getElementById('app') as HTMLElement,
);
