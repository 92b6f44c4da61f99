// The console's one page. It rebuilds what it shows from /v1 whenever the stream says that
// something is new, and every few seconds for the samples.

import { Problem, follow, read, token } from "./api.js";
import * as charts from "./charts.js";
import * as models from "./models.js";
import * as policies from "./policies.js";
import * as routes from "./routes.js";
import {
  decisionWords, emptyRow, findingItem, gatewayRow, noteItem, planeItem, primaryOf, stepItem,
  weightRow,
} from "./rows.js";
import { say, switchLanguage, translate } from "./words.js";

const REFRESH_MS = 5000;
const RETRY_MS = 2000;
const $ = (id) => document.getElementById(id);

let session = null; // aborts what belongs to the token in use
let attempt = null; // aborts one connection of the stream
let services = [];
let lostAt = null;

async function showServices() {
  services = (await read("/v1/services")).items;
  const rows = services.flatMap((service) => service.datacenters.map((c) => weightRow(service, c)));
  $("weights").replaceChildren(...(rows.length ? rows : [emptyRow("noServices", 7)]));
  $("details").hidden = !services.length;
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
  const last = samples.at(-1);
  $("time-chart").hidden = !last;
  if (last) {
    charts.responseTimes($("time-chart"), samples);
  }
  $("time-words").textContent = last
    ? say("samples", samples.length, last.response_time_ms.toFixed(1), last.datacenter)
    : say("noSamples");
}

async function showDecision() {
  const service = services.find((one) => one.name === $("service").value);
  if (!service) {
    return;
  }
  const primary = primaryOf(service);
  const decision = service.decision && await recorded(service.decision);
  const curve = decision && decision.curve;
  const many = curve && decision.center_curves.length > 0;
  const drawn = Boolean(curve && curve.length) || many;
  $("rung").textContent = say("rung", service.strategy, service.ladder.rung);
  $("curve-chart").hidden = !drawn;
  if (drawn) {
    const draw = many ? charts.centerCurves : charts.curve;
    draw($("curve-chart"), decision, primary);
  }
  const missing = !decision ? say("noDecision") : say(curve ? "noCurve" : "noRecord");
  const words = decision ? [decisionWords(decision, primary)] : [];
  $("curve-words").textContent = [...words, ...(drawn ? [] : [missing])].join(" ");
  $("notes").replaceChildren(...(decision ? decision.notes : []).map(noteItem));
  await showSteps(curve ? decision : null);
}

// A decision is explained by making it again, so only when somebody wants to read it.
async function showSteps(decision) {
  $("why").hidden = !decision;
  if (!decision || !$("why").open || $("why").dataset.shown === decision.id) {
    return;
  }
  const steps = (await explained(decision.id)).map(stepItem);
  $("steps").replaceChildren(...steps);
  $("why").dataset.shown = decision.id;
}

async function explained(id) {
  try {
    return (await read(`/v1/decisions/${encodeURIComponent(id)}/explanation`)).steps;
  } catch (error) {
    if (error instanceof Problem && [404, 422, 503].includes(error.status)) {
      return [{ part: "result", name: "", says: error.message }];
    }
    throw error;
  }
}

async function showFindings() {
  const found = (await read("/v1/findings")).items;
  $("findings").replaceChildren(...found.map(findingItem));
  $("no-findings").hidden = found.length > 0;
  $("finding-count").hidden = found.length === 0;
  $("finding-count").firstElementChild.textContent = say("findingCount", found.length);
}

// The whole decision, or its summary while the store does not have it.
async function recorded(summary) {
  try {
    return await read(`/v1/decisions/${encodeURIComponent(summary.id)}`);
  } catch (error) {
    if (error instanceof Problem && (error.status === 404 || error.status === 503)) {
      return summary;
    }
    throw error;
  }
}

async function showGateways() {
  const answer = await read("/v1/gateways");
  $("revision").textContent = answer.revision
    ? say("revision", answer.revision, answer.version.slice(0, 12)) : say("unpublished");
  const rows = answer.items.map(gatewayRow);
  $("gateways").replaceChildren(...(rows.length ? rows : [emptyRow("noGateways", 8)]));
  $("planes").replaceChildren(...answer.planes.map(planeItem));
}

const PAGES = ["overview", "routes", "policies", "models"];

function page() {
  const named = location.hash.slice(1);
  return PAGES.includes(named) ? named : PAGES[0];
}

function showPage() {
  for (const name of PAGES) {
    $(`${name}-page`).hidden = name !== page();
    if (name === page()) {
      $(`to-${name}`).setAttribute("aria-current", "page");
    } else {
      $(`to-${name}`).removeAttribute("aria-current");
    }
  }
}

// What is fetched for the page that is open.
const SHOWN = {
  overview: () => Promise.all([showSamples(), showDecision()]),
  routes: routes.show,
  policies: policies.show,
  models: () => models.show(services.map((service) => service.name)),
};

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
    await Promise.all([SHOWN[page()](), showGateways(), showFindings()]);
    $("problem").textContent = "";
  } catch (error) {
    fail(error);
  } finally {
    running = false;
  }
  if (again && token.get()) {
    again = false;
    await refresh();
  }
}

function fail(error) {
  if (!token.get()) {
    return;
  }
  if (!(error instanceof Problem)) {
    lost();
  } else if (error.status === 401) {
    logOut(error.message);
  } else {
    $("problem").textContent = error.message;
  }
}

// No answer at all: say since when, and let the stream begin anew.
function lost() {
  lostAt = lostAt || new Date();
  connection("lost");
  if (attempt) {
    attempt.abort();
  }
}

function connection(state) {
  $("connection").dataset.state = state;
  $("connection").textContent = say(state);
  $("main").classList.toggle("stale", state === "lost");
  $("lost").textContent = state === "lost" ? say("lostWords", lostAt.toLocaleTimeString()) : "";
}

function connected() {
  lostAt = null;
  connection("on");
  refresh();
}

async function listen(signal) {
  let lastId = "";
  while (!signal.aborted) {
    attempt = new AbortController();
    try {
      await follow("/v1/watch", {
        lastId,
        signal: AbortSignal.any([signal, attempt.signal]),
        onOpen: connected,
        onEvent: (event) => {
          lastId = event.id || lastId;
          refresh();
        },
      });
    } catch (error) {
      if (error instanceof Problem && !signal.aborted) {
        fail(error);
      }
    }
    if (signal.aborted) {
      return;
    }
    lost();
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

// A token is tried with one request before anything else uses it.
async function logIn() {
  $("enter").disabled = true;
  try {
    await read("/v1/services");
    await models.forToken();
  } catch (error) {
    if (error instanceof Problem) {
      logOut(error.message);
      return;
    }
  } finally {
    $("enter").disabled = false;
  }
  $("login").hidden = true;
  $("main").hidden = false;
  $("forget").hidden = false;
  $("pages").hidden = false;
  showPage();
  $("main").focus();
  session = new AbortController();
  listen(session.signal);
}

function logOut(message = "") {
  token.forget();
  if (session) {
    session.abort();
    session = null;
  }
  lostAt = null;
  connection("off");
  $("main").hidden = true;
  $("forget").hidden = true;
  $("pages").hidden = true;
  $("revision").textContent = "";
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
models.begin(fail);
routes.begin(fail);
policies.begin(fail);
window.addEventListener("hashchange", () => {
  showPage();
  if (session) {
    refresh();
  }
});
$("why").addEventListener("toggle", () => {
  $("why").dataset.shown = "";
  if ($("why").open && session) {
    refresh();
  }
});
$("language").addEventListener("click", () => {
  switchLanguage();
  translate();
  connection($("connection").dataset.state);
  if (session) {
    refresh();
  }
});
setInterval(() => {
  if (session && !document.hidden) {
    refresh();
  }
}, REFRESH_MS);

translate();
connection("off");
if (token.get()) {
  logIn();
} else {
  logOut();
}
