/** Answers each message at once; the benchmark calls `start`. */
chrome.runtime.onMessage.addListener((_message, _sender, reply) => {
  reply('pong');
});

globalThis.start = (port) =>
  chrome.offscreen.createDocument({
    url: `offscreen.html#${port}`,
    reasons: ['WORKERS'],
    justification: 'Holds a socket for the benchmark.',
  });
