/** The activity page's shell: the one place where it talks to the browser and to the router. */
import { render } from 'preact';
import { browser } from '../../platform/browser';
import { send } from '../../platform/messaging';
import { createTexts, labelDocument } from '../i18n';
import { ActivityApp } from './activity-app';

const texts = createTexts(browser.i18n);

labelDocument(document, texts, 'activity_page_title');
render(
  <ActivityApp texts={texts} getActivity={async () => (await send('activity.list', {})).activity} />,
  document.getElementById('app') as HTMLElement,
);
