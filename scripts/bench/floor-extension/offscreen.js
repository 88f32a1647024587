/** Echoes what the socket brings; `message` takes the way through the worker first. */
const socket = new WebSocket(`ws://127.0.0.1:${location.hash.slice(1)}`);

socket.onmessage = async ({ data }) => {
  if (data === 'message') await chrome.runtime.sendMessage('ping');
  socket.send(data);
};
