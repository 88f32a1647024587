/** Echoes what the socket brings; all but `socket` takes the way through the worker first, whose answer is then sent. */
const socket = new WebSocket(`ws://127.0.0.1:${location.hash.slice(1)}`);

socket.onmessage = async ({ data }) => {
  socket.send(data === 'socket' ? data : await chrome.runtime.sendMessage(data));
};
