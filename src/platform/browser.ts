/** The one place that takes hold of the browser's API: promises and types from webextension-polyfill. */
import browser from 'webextension-polyfill';

export { browser };
