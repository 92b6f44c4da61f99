// The page of models: versions of a service, the report of one or of two side by side, the log of
// promotions, and the buttons that move a model for those who may.

import { read, readPage, send } from "./api.js";
import { currentLanguage, say } from "./words.js";

const $ = (id) => document.getElementById(id);

// A year of weekly training.
const MOST_VERSIONS = 50;

let may = false; // whether this token may promote and roll back
let shown = ""; // what the report shows now, so that a refresh does not draw it again
let problem = () => {};

export function begin(onProblem) {
  problem = onProblem;
  $("compare-with").addEventListener("change", () => attempt(showReport));
  $("model-service").addEventListener("change", () => attempt(() => show()));
  $("download-report").addEventListener("click", () => attempt(download));
  $("roll-back").addEventListener("click", () => attempt(rollBack));
}

// What this token may do; asked once, when it is first used.
export async function forToken() {
  may = (await read("/v1/whoami")).permissions.includes("manage-models");
  shown = "";
}

// `services` are the names of those that are declared; left out, they are as before.
export async function show(services) {
  if (services) {
    options($("model-service"), services, (name) => name);
  }
  const service = $("model-service").value;
  const query = `service=${encodeURIComponent(service)}&limit=${MOST_VERSIONS}`;
  const models = service ? (await read(`/v1/models?${query}`)).items : [];
  $("no-models").hidden = models.length > 0;
  $("models-of-service").hidden = !models.length;
  if (models.length) {
    await Promise.all([showVersions(models), showLog(service)]);
    await showReport();
  }
}

async function showVersions(models) {
  const chosen = $("versions").dataset.digest;
  const digest = models.some((model) => model.digest === chosen) ? chosen : preferred(models).digest;
  $("versions").dataset.digest = digest;
  $("versions").replaceChildren(...models.map((model) => versionRow(model, model.digest === digest)));
  options($("compare-with"), ["", ...models.map((model) => model.digest).filter((one) => one !== digest)],
    (one) => (one ? one.slice(0, 12) : say("nothing")));
  $("moving").hidden = !may;
}

// The one that decides; the newest where none does.
function preferred(models) {
  return models.find((model) => model.aliases.includes("champion")) || models[0];
}

async function showLog(service) {
  const steps = (await read(`/v1/services/${encodeURIComponent(service)}/promotions?limit=20`)).items;
  $("promotions").replaceChildren(...steps.map(logRow));
}

async function showReport() {
  const first = $("versions").dataset.digest;
  const second = $("compare-with").value;
  const wanted = [first, second, currentLanguage()].join();
  if (!first || wanted === shown) {
    return;
  }
  const content = await read(path(first, second));
  shown = wanted;
  // What is drawn was uploaded: a report that cannot be drawn is no loss of the connection.
  try {
    globalThis.SignalboxReport.show($("model-report"), content, currentLanguage());
  } catch (error) {
    $("model-report").textContent = say("notDrawn", error.message);
  }
}

function path(first, second) {
  return `/v1/models/${first}/${second ? `compare/${second}` : "report"}`;
}

function options(select, values, label) {
  const made = values.map((value) => new Option(label(value), value));
  const chosen = select.value;
  select.replaceChildren(...made);
  select.value = values.includes(chosen) ? chosen : values[0] || "";
}

function cell(label, ...content) {
  const td = document.createElement("td");
  td.dataset.label = say(label);
  td.append(...content);
  return td;
}

function button(text, label, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.setAttribute("aria-label", label);
  made.addEventListener("click", () => attempt(action));
  return made;
}

function versionRow(model, selected) {
  const name = model.digest.slice(0, 12);
  const scores = model.description.scores || {};
  const percent = (value, factor) => (value === undefined ? "–" : `${(factor * value).toFixed(1)}\u00a0%`);
  const actions = [button(say("showReport"), `${say("showReport")} ${name}`, async () => {
    $("versions").dataset.digest = model.digest;
    $("compare-with").value = "";
    await show();
    $("model-report").focus();
  })];
  if (may && !model.aliases.includes("champion")) {
    actions.push(button(say("promote"), `${say("promote")} ${name}`, () => promote(model)));
  }
  const row = document.createElement("tr");
  if (selected) row.setAttribute("aria-current", "true");
  row.append(
    cell("version", name), cell("created", new Date(model.created).toLocaleString()),
    cell("aliases", model.aliases.join(", ") || "–"), cell("settings", model.description.kind || "–"),
    cell("errorScore", percent(scores.hybrid_mape_pct ?? scores.mlp_mape_pct, 1)),
    cell("spread", percent(scores.residual_spread, 100)), cell("actions", ...actions),
  );
  row.children[4].className = row.children[5].className = "number";
  row.lastChild.className = "actions wide";
  return row;
}

function logRow(step) {
  const row = document.createElement("tr");
  row.append(
    cell("time", new Date(step.time).toLocaleString()), cell("event", step.event),
    cell("version", step.model.slice(0, 12)), cell("beforeIt", step.before.slice(0, 12) || "–"),
    cell("author", step.author), cell("reason", step.reason || "–"),
  );
  row.lastChild.className = "long wide";
  return row;
}

async function promote(model) {
  const wanted = { service: model.service, reason: $("move-reason").value };
  await moved(await send(`/v1/models/${model.digest}:promote`, wanted));
}

async function rollBack() {
  const service = encodeURIComponent($("model-service").value);
  await moved(await send(`/v1/services/${service}/models:rollback`, { reason: $("move-reason").value }));
}

// Shows the model that decides now.
async function moved(model) {
  $("move-reason").value = "";
  $("versions").dataset.digest = model.digest;
  await show();
}

// The page as a file: everything is inside, so it opens without the control plane.
async function download() {
  const [first, second] = [$("versions").dataset.digest, $("compare-with").value];
  const address = URL.createObjectURL(await readPage(path(first, second)));
  const link = document.createElement("a");
  link.href = address;
  link.download = `${[first, second].filter(Boolean).map((one) => one.slice(0, 12)).join("-")}.html`;
  link.click();
  URL.revokeObjectURL(address);
}

async function attempt(action) {
  try {
    await action();
  } catch (error) {
    problem(error);
  }
}
