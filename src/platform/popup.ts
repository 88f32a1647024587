/** Opens the popup without a click on the button. The polyfill's types do not know that, hence `chrome` here. */

const POPUP_PAGE = 'src/ui/popup/popup.html';

/** In a small window where Chrome cannot open it by itself: before version 127, or with no window in front. */
export async function openPopup(): Promise<void> {
  try {
    await chrome.action.openPopup();
  } catch {
    const url = chrome.runtime.getURL(POPUP_PAGE);
    await chrome.windows.create({ url, type: 'popup', width: 376, height: 640 });
  }
}
