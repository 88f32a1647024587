/** The settings page's shell: the one place where it talks to the browser and to the router. */
import { render } from 'preact';
import { browser } from '../../platform/browser';
import { send } from '../../platform/messaging';
import { createTexts, labelDocument } from '../i18n';
import { SettingsApp } from './settings-app';

const texts = createTexts(browser.i18n);

labelDocument(document, texts, 'settings_page_title');
render(
  <SettingsApp
    texts={texts}
    getPermissions={async () => (await send('permissions.get', {})).permissions}
    setPermission={async (name, permission) =>
      (await send('permissions.set', { name, permission })).permissions
    }
  />,
  document.getElementById('app') as HTMLElement,
);
