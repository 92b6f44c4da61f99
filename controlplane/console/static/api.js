// Talks to /v1 with the token of this tab: JSON documents, and the event stream read by fetch,
// because an EventSource cannot send an Authorization header.

const KEY = "signalbox.token";

export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

export class Problem extends Error {
  constructor(status, content) {
    super(content.detail || `the control plane answered ${status}`);
    this.status = status;
    this.code = content.code || "";
  }
}

async function request(path, options = {}) {
  const headers = { Authorization: `Bearer ${token.get()}`, ...options.headers };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (!answer.ok) {
    throw new Problem(answer.status, await answer.json().catch(() => ({})));
  }
  return answer;
}

// A read that takes longer counts as no answer.
const PATIENCE_MS = 10000;

export async function read(path) {
  return (await request(path, { signal: AbortSignal.timeout(PATIENCE_MS) })).json();
}

export async function send(path, content) {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify(content);
  return (await request(path, { method: "POST", headers, body, signal: AbortSignal.timeout(PATIENCE_MS) })).json();
}

// A page as a blob, to be saved; it is some megabytes.
export async function readPage(path) {
  return (await request(path, { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(6 * PATIENCE_MS) })).blob();
}

// Calls onEvent(name, data) for each event until the stream ends or `signal` aborts it.
export async function follow(path, { lastId, onOpen, onEvent, signal }) {
  const headers = { Accept: "text/event-stream" };
  if (lastId) {
    headers["Last-Event-ID"] = lastId;
  }
  const answer = await request(path, { headers, signal });
  onOpen();
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) {
      return;
    }
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    parts.map(parse).filter((event) => event.data).forEach(onEvent);
  }
}

function parse(block) {
  const event = { id: "", name: "message", data: "" };
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    if (at <= 0) {
      continue;
    }
    const value = line.slice(at + 1).trimStart();
    if (line.startsWith("id:")) event.id = value;
    if (line.startsWith("event:")) event.name = value;
    if (line.startsWith("data:")) event.data += value;
  }
  return event;
}
