// The page of admission policies: what is declared, with findings, and what the policies say of a
// request, as POST /v1/policies:decide tells it.

import { read, send } from "./api.js";
import { addressOf, cell, headersOf } from "./routes.js";
import { say } from "./words.js";

const $ = (id) => document.getElementById(id);

let problem = () => {};

export function begin(onProblem) {
  problem = onProblem;
  $("try-policies").addEventListener("submit", (event) => {
    event.preventDefault();
    attempt(decide);
  });
}

export async function show() {
  const [items, findings] = await Promise.all([everything(), read("/v1/findings")]);
  const wrong = Map.groupBy(findings.items, (finding) => finding.subject.split(" ")[0]);
  $("policies").replaceChildren(...items.map((item) => policyRow(item, wrong.get(`policy/${item.name}`) || [])));
  $("no-policies").hidden = items.length > 0;
}

async function everything() {
  const found = [];
  let next = "";
  do {
    const answer = await read(`/v1/policies:list${next ? `?cursor=${encodeURIComponent(next)}` : ""}`);
    found.push(...answer.items);
    next = answer.next;
  } while (next);
  return found;
}

function policyRow(item, findings) {
  const name = document.createElement("button");
  name.type = "button";
  name.className = "plain";
  name.textContent = item.name;
  name.addEventListener("click", () => attempt(() => showOne(item)));
  const row = document.createElement("tr");
  row.append(
    cell("policy", name), cell("kind", item.kind), cell("mode", say(`mode-${item.mode}`)),
    cell("attachedTo", attached(item.document) || say("everything")),
    cell("wrong", findings.map((one) => one.code).join(", ") || "–"),
  );
  row.firstChild.className = "wide";
  row.children[3].className = "long wide";
  row.lastChild.className = findings.length ? "bad long wide" : "long";
  row.lastChild.title = findings.map((one) => one.message).join("\n");
  return row;
}

function attached(document) {
  return ["routes", "services", "regions"].filter((key) => document[key])
    .map((key) => `${say(key)}: ${document[key].join(" ")}`).join("; ");
}

function showOne(item) {
  $("one-policy-title").textContent = item.name;
  $("one-policy-document").textContent = JSON.stringify(item.document, null, 2);
  $("one-policy").hidden = false;
  $("one-policy").focus();
}

async function decide() {
  const answer = await send("/v1/policies:decide", {
    ...addressOf($("try-url").value.trim()),
    method: $("try-method").value.trim().toUpperCase() || "GET",
    headers: headersOf($("try-headers").value),
    source: $("try-source").value.trim(),
    region: $("try-region").value.trim(),
  });
  const decision = answer.decision;
  const facts = [
    ["route", answer.route], ["service", answer.service], ["verdict", decision.verdict],
    ["because", answer.refused || decision.reason], ["policy", decision.policy], ["status", decision.status],
  ];
  $("verdict").replaceChildren(...facts.filter(([, value]) => value).flatMap(([name, value]) => {
    const [term, detail] = ["dt", "dd"].map((tag) => document.createElement(tag));
    term.textContent = say(name);
    detail.textContent = value;
    return [term, detail];
  }));
  $("said").replaceChildren(...answer.said.map(saidRow));
  $("said-table").hidden = !answer.said.length;
}

function saidRow(one) {
  const details = Object.entries(one.decision.details).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const row = document.createElement("tr");
  row.append(
    cell("policy", one.policy), cell("kind", one.kind), cell("effect", say(`effect-${one.effect}`)),
    cell("verdict", one.decision.verdict), cell("because", one.decision.reason || "–"),
    cell("details", details.join(", ") || "–"),
  );
  row.lastChild.className = "long wide";
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
