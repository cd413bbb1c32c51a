// JSON-RPC 2.0 in the frames of the Language Server Protocol (specification 3.17, "Base
// Protocol"), over the streams of a process.
"use strict";

// Errors that say that nobody waits for an answer any more.
const CANCELLED = -32800;
const CONTENT_MODIFIED = -32801;

// frames calls take with each message of a stream.
function frames(stream, take) {
  let buffer = Buffer.alloc(0);
  stream.on("data", (data) => {
    buffer = Buffer.concat([buffer, data]);
    for (;;) {
      const head = buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = /^content-length: *(\d+)/im.exec(buffer.toString("ascii", 0, head));
      if (!length) throw new Error("a message of ptc lsp has no length");
      const end = head + 4 + Number(length[1]);
      if (buffer.length < end) return;
      const message = JSON.parse(buffer.toString("utf8", head + 4, end));
      buffer = buffer.subarray(end);
      take(message);
    }
  });
}

// connect gives request and notify. handlers has a function for each method of the server,
// whose requests are all answered with null.
exports.connect = (input, output, handlers) => {
  const waiting = new Map();
  let last = 0;
  let open = true;

  const send = (message) => {
    if (!open) return;
    const text = JSON.stringify({ jsonrpc: "2.0", ...message });
    output.write(`Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`);
  };
  const settle = ({ id, result, error }) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (!call) return;
    if (!error) call.resolve(result);
    else if (error.code === CANCELLED || error.code === CONTENT_MODIFIED) call.resolve(null);
    else call.reject(new Error(error.message));
  };

  frames(input, (message) => {
    if (!message.method) return settle(message);
    const handle = handlers[message.method];
    if (handle) handle(message.params);
    if (message.id !== undefined) send({ id: message.id, result: null });
  });
  output.on("error", () => {}); // the process ended, which its owner tells

  return {
    notify: (method, params) => send({ method, params }),
    // request is null where the server is gone, and where the answer is for a text that was edited.
    request(method, params, token) {
      if (!open) return Promise.resolve(null);
      const id = ++last;
      const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
      send({ id, method, params });
      if (token) token.onCancellationRequested(() => waiting.has(id) && send({ method: "$/cancelRequest", params: { id } }));
      return answer;
    },
    close() {
      open = false;
      for (const call of waiting.values()) call.resolve(null);
      waiting.clear();
    },
  };
};
