// The console's one page. It rebuilds what it shows from /v1 whenever the stream says that
// something is new, and every few seconds for the samples.

import { Problem, follow, read, token } from "./api.js";
import * as charts from "./charts.js";

const REFRESH_MS = 5000;
const RETRY_MS = 2000;
const $ = (id) => document.getElementById(id);

let stream = null;
let services = [];
let newest = 0;

function cell(text, className = "") {
  const td = document.createElement("td");
  td.textContent = text;
  td.className = className;
  return td;
}

function number(value, digits, unit) {
  return value === null || value === undefined ? "–" : `${value.toFixed(digits)} ${unit}`.trim();
}

function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)} %`;
}

function shareCell(name, share) {
  const td = cell("");
  const meter = document.createElement("meter");
  meter.max = 1;
  meter.value = share;
  meter.setAttribute("aria-label", `share of ${name}`);
  td.append(meter, percent(share));
  return td;
}

function weightRow(service, center) {
  const row = document.createElement("tr");
  const sample = center.sample || {};
  row.append(
    cell(service.name),
    cell(`${center.name} (${center.role})`),
    shareCell(center.name, center.share),
    cell(number(sample.response_time_ms, 1, "ms"), "number"),
    cell(number(sample.request_rate_rps, 1, "/s"), "number"),
    cell(percent(sample.cpu_avg), "number"),
    cell(number(center.sample_age_s, 0, "s"), "number"),
  );
  return row;
}

function gatewayRow(gateway) {
  const row = document.createElement("tr");
  const current = gateway.up_to_date;
  const state = !gateway.connected ? "away" : current ? "current" : "behind";
  const refused = Object.entries(gateway.refused).map(([type, words]) => `${type}: ${words}`);
  row.append(
    cell(gateway.name), cell(gateway.group), cell(gateway.kind),
    cell(state, current ? "good" : "bad"),
    cell(String(gateway.revision), "number"),
    cell(String(gateway.acks), "number"), cell(String(gateway.nacks), "number"),
    cell(refused.join("; ")),
  );
  return row;
}

async function showServices() {
  services = (await read("/v1/services")).items;
  const rows = services.flatMap((service) => service.datacenters.map((c) => weightRow(service, c)));
  $("weights").replaceChildren(...rows);
  const select = $("service");
  const names = services.map((service) => service.name);
  if ([...select.options].map((option) => option.value).join() !== names.join()) {
    const chosen = select.value;
    select.replaceChildren(...names.map((name) => new Option(name, name)));
    select.value = names.includes(chosen) ? chosen : names[0] || "";
  }
}

async function showSamples() {
  const name = $("service").value;
  if (!name) {
    return;
  }
  const samples = (await read(`/v1/services/${encodeURIComponent(name)}/samples`)).items;
  charts.responseTimes($("time-chart"), samples);
  const last = samples.at(-1);
  $("time-words").textContent = last
    ? `${samples.length} samples; the newest is ${last.response_time_ms.toFixed(1)} ms in ${last.datacenter}.`
    : "No samples in the last hour.";
}

async function showDecision() {
  const service = services.find((one) => one.name === $("service").value);
  if (!service || !service.decision) {
    charts.clear($("curve-chart"));
    $("curve-words").textContent = "No decision yet.";
    $("notes").replaceChildren();
    return;
  }
  const decision = await read(`/v1/decisions/${encodeURIComponent(service.decision.id)}`);
  const primary = service.datacenters[0].name;
  if (decision.curve.length) {
    charts.curve($("curve-chart"), decision, primary);
  } else {
    charts.clear($("curve-chart"));
  }
  $("curve-words").textContent =
    `${new Date(decision.time).toLocaleTimeString()}: ${decision.strategy} proposed ` +
    `${percent(decision.proposed[primary])} for ${primary}; ${decision.outcome} at ` +
    `${percent(decision.decided[primary])}${decision.curve.length ? "" : " (a rule without a curve)"}.`;
  $("notes").replaceChildren(...decision.notes.map((note) => {
    const item = document.createElement("li");
    item.textContent = `${note.message} (${note.code})`;
    return item;
  }));
}

async function showGateways() {
  const answer = await read("/v1/gateways");
  newest = answer.revision;
  $("revision").textContent = newest
    ? `revision ${newest}, version ${answer.version.slice(0, 12)}` : "nothing is published";
  $("gateways").replaceChildren(...answer.items.map(gatewayRow));
}

// One refresh at a time; what asks meanwhile is served by one more at the end.
let running = false;
let again = false;
async function refresh() {
  if (running) {
    again = true;
    return;
  }
  running = true;
  try {
    await showServices();
    await Promise.all([showSamples(), showDecision(), showGateways()]);
    $("problem").textContent = "";
  } catch (error) {
    fail(error);
  } finally {
    running = false;
  }
  if (again) {
    again = false;
    await refresh();
  }
}

function fail(error) {
  if (error instanceof Problem && error.status === 401) {
    logOut(error.message);
  } else if (token.get()) {
    $("problem").textContent = error.message;
  }
}

function connection(state, words) {
  $("connection").dataset.state = state;
  $("connection").textContent = words;
}

async function listen(control) {
  let lastId = "";
  while (!control.signal.aborted) {
    try {
      await follow("/v1/watch", {
        lastId,
        signal: control.signal,
        onOpen: () => connection("on", "live"),
        onEvent: (event) => {
          lastId = event.id || lastId;
          refresh();
        },
      });
    } catch (error) {
      if (!control.signal.aborted) {
        fail(error);
      }
    }
    if (control.signal.aborted) {
      return;
    }
    connection("off", "reconnecting");
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

function logIn() {
  $("login").hidden = true;
  $("main").hidden = false;
  $("forget").hidden = false;
  stream = new AbortController();
  refresh();
  listen(stream);
}

function logOut(message = "") {
  token.forget();
  if (stream) {
    stream.abort();
    stream = null;
  }
  connection("off", "not connected");
  $("main").hidden = true;
  $("forget").hidden = true;
  $("login").hidden = false;
  $("login-problem").textContent = message;
  $("token").focus();
}

$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token.set($("token").value.trim());
  $("token").value = "";
  $("login-problem").textContent = "";
  logIn();
});
$("forget").addEventListener("click", () => logOut());
$("service").addEventListener("change", refresh);
setInterval(() => {
  if (token.get() && !document.hidden) {
    refresh();
  }
}, REFRESH_MS);

if (token.get()) {
  logIn();
} else {
  logOut();
}
