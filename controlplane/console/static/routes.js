// The page of routes: the table with lives, gray releases and findings, what one route says, and
// which route a request gets, as POST /v1/routes:match tells it.

import { read, send } from "./api.js";
import { percent } from "./rows.js";
import { say } from "./words.js";

const $ = (id) => document.getElementById(id);

// Rows at a time; a table may have ten thousand.
const ROWS = 200;
// A pause in typing before the table is asked.
const PAUSE_MS = 250;

let problem = () => {};
let more = 0; // how many pages were asked for beside the first; typing asks for the first anew
let asked = 0; // how often the rows were; an answer that was overtaken is not shown
let timer = 0;

export function begin(onProblem) {
  problem = onProblem;
  $("route-filter").addEventListener("input", () => {
    more = 0;
    clearTimeout(timer);
    timer = setTimeout(() => attempt(show), PAUSE_MS);
  });
  $("route-life").addEventListener("change", () => {
    more = 0;
    attempt(show);
  });
  $("more-routes").addEventListener("click", () => {
    more += 1;
    attempt(show);
  });
  $("ask-route").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(ask);
  });
}

export async function show() {
  asked += 1;
  const mine = asked;
  const [[items, behind], findings] = await Promise.all([routes(), read("/v1/findings")]);
  if (mine !== asked) return;
  const wrong = Map.groupBy(findings.items, (finding) => finding.subject);
  $("routes").replaceChildren(...items.map((item) => routeRow(item, wrong.get(`route/${item.id}`) || [])));
  $("no-routes").hidden = items.length > 0;
  $("more-routes").hidden = !behind;
  $("route-count").textContent = say("routeCount", items.length, Boolean(behind));
}

async function routes() {
  const query = new URLSearchParams({ limit: ROWS });
  if ($("route-filter").value.trim()) query.set("contains", $("route-filter").value.trim());
  if ($("route-life").value) query.set("life", $("route-life").value);
  const found = [];
  let cursor = null;
  for (let page = 0; page <= more; page += 1) {
    if (cursor) query.set("cursor", cursor);
    const answer = await read(`/v1/routes:list?${query}`);
    found.push(...answer.items);
    cursor = answer.next;
    if (!cursor) break;
  }
  return [found, cursor];
}

function routeRow(item, findings) {
  const route = item.draft || item.published;
  const path = route.path || {};
  const name = document.createElement("button");
  name.type = "button";
  name.className = "plain";
  name.textContent = item.id;
  name.addEventListener("click", () => attempt(() => showOne(item.id)));
  const row = document.createElement("tr");
  row.append(
    cell("route", name), cell("life", say(`life-${item.life}`)), cell("hosts", (route.hosts || ["*"]).join(" ")),
    cell("methods", (route.methods || []).join(" ") || "–"), cell("path", pathWords(path)),
    cell("goal", goal(route)), cell("gray", item.gray ? grayWords(item.gray) : "–"),
    cell("wrong", findings.map((one) => one.code).join(", ") || "–"),
  );
  row.firstChild.className = "wide";
  row.children[2].className = row.children[4].className = row.children[5].className = "long wide";
  row.lastChild.className = findings.length ? "bad long wide" : "long";
  row.lastChild.title = findings.map((one) => one.message).join("\n");
  return row;
}

export function cell(label, ...content) {
  const td = document.createElement("td");
  td.dataset.label = say(label);
  td.append(...content);
  return td;
}

function pathWords(path) {
  const kind = path.type || "PathPrefix";
  const value = path.value || "/";
  return kind === "PathPrefix" ? `${value === "/" ? "" : value}/…` : kind === "RegularExpression" ? `~ ${value}` : value;
}

function goal(route) {
  if (route.redirect) return `${say("redirect")} ${route.redirect.status || 302}`;
  if (route.response) return `${say("answer")} ${route.response.status || 403}`;
  return route.service;
}

function grayWords(gray) {
  const step = gray.steps[gray.step];
  const part = step.gateways.length ? step.gateways.join(" ") : percent(step.share);
  return `${part} (${gray.step + 1}/${gray.steps.length}) ${gray.verdict}`;
}

async function showOne(id) {
  const found = await read(`/v1/routes/${encodeURIComponent(id)}`);
  const forms = Object.fromEntries(["published", "draft"].filter((name) => found[name]).map((name) => [name, found[name]]));
  $("one-route-title").textContent = id;
  $("one-route-words").textContent = found.gray ? `${grayWords(found.gray)}: ${found.gray.reason}` : say(`life-${found.life}`);
  $("one-route-forms").textContent = JSON.stringify(forms, null, 2);
  $("one-route").hidden = false;
  $("one-route").focus();
}

// `name: value` a line, as in a request.
export function headersOf(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const at = line.indexOf(":");
    return at < 0 ? [line, ""] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
  }));
}

// A URL, or a path of any host.
export function addressOf(text) {
  const found = /^https?:\/\/([^/?#]+)([^#]*)/.exec(text);
  return found ? { host: found[1], path: /^\//.test(found[2]) ? found[2] : `/${found[2]}` } : { path: text };
}

async function ask() {
  const optional = [["source", "ask-source"], ["draft", "ask-draft"], ["gateway", "ask-gateway"]]
    .map(([name, id]) => [name, $(id).value.trim()]).filter(([, value]) => value);
  const answer = await send("/v1/routes:match", {
    ...addressOf($("ask-url").value.trim()),
    method: $("ask-method").value.trim().toUpperCase() || "GET",
    headers: headersOf($("ask-headers").value),
    ...Object.fromEntries(optional),
  });
  const parameters = Object.entries(answer.parameters).map(([name, value]) => `${name} = ${value}`);
  const facts = [
    ["route", answer.route], ["service", answer.service], ["status", answer.status], ["because", answer.reason],
    ["hostRule", answer.host], ["normalPath", answer.path], ["parameters", parameters.join(", ")], ["nextRoute", answer.next],
  ];
  $("got").replaceChildren(...facts.filter(([, value]) => value).flatMap(([name, value]) => {
    const [term, detail] = ["dt", "dd"].map((tag) => document.createElement(tag));
    term.textContent = say(name);
    detail.textContent = value;
    return [term, detail];
  }));
  $("losers").replaceChildren(...answer.losers.map(loserRow));
  $("losers-table").hidden = !answer.losers.length;
  $("others").textContent = answer.others ? say("others", answer.others) : "";
}

function loserRow(loser) {
  const row = document.createElement("tr");
  row.append(
    cell("route", loser.id), cell("whyNot", loser.why),
    cell("missing", loser.unmet.join("; ") || "–"), cell("behindBy", loser.before || "–"),
  );
  for (const td of row.children) td.className = "long wide";
  return row;
}

async function attempt(action) {
  try {
    await action();
    $("problem").textContent = "";
  } catch (error) {
    problem(error);
  }
}
