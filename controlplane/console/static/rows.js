// Rows of the tables and the words of a decision, from what /v1 answered.

import { say } from "./words.js";

// A unit stays on the line of its number.
export function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)}\u00a0%`;
}

function number(value, digits, unit) {
  return value === null || value === undefined ? "–" : `${value.toFixed(digits)}\u00a0${unit}`.trim();
}

// `label` is the column's name, which a phone shows in the cell.
function cell(label, text, className = "") {
  const td = document.createElement("td");
  td.dataset.label = say(label);
  td.textContent = text;
  td.className = className;
  return td;
}

function row(...cells) {
  const tr = document.createElement("tr");
  tr.append(...cells);
  return tr;
}

function shareCell(center) {
  const td = cell("share", "", "share");
  const meter = document.createElement("meter");
  meter.max = 1;
  meter.value = center.share;
  meter.setAttribute("aria-label", say("shareOf", center.name));
  const text = document.createElement("strong");
  text.textContent = percent(center.share);
  td.append(text, meter);
  return td;
}

export function weightRow(service, center) {
  const sample = center.sample || {};
  return row(
    cell("service", service.name, "wide"),
    cell("center", `${center.name} (${center.role})`, "wide"),
    shareCell(center),
    cell("responseTime", number(sample.response_time_ms, 1, "ms"), "number"),
    cell("requests", number(sample.request_rate_rps, 1, "/s"), "number"),
    cell("cpu", percent(sample.cpu_avg), "number"),
    cell("age", number(center.sample_age_s, 0, "s"), "number"),
  );
}

export function gatewayRow(gateway) {
  const good = gateway.up_to_date;
  const state = !gateway.connected ? "away" : good ? "current" : "behind";
  const refused = Object.entries(gateway.refused).map(([type, words]) => `${type}: ${words}`);
  return row(
    cell("gateway", gateway.name, "wide"),
    cell("group", gateway.group),
    cell("kind", gateway.kind),
    cell("state", say(state), good ? "good" : "bad"),
    cell("number", String(gateway.revision), "number"),
    cell("ack", String(gateway.acks), "number"),
    cell("nack", String(gateway.nacks), "number"),
    cell("refused", refused.join("; ") || "–", "long"),
  );
}

// One row over all columns, for a table that has nothing to show.
export function emptyRow(key, columns) {
  const td = cell(key, say(key), "empty");
  td.colSpan = columns;
  return row(td);
}

export function planeItem(plane) {
  const item = document.createElement("li");
  item.textContent = say("plane", plane) + (plane.message ? `: ${plane.message}` : "");
  item.className = plane.message ? "bad" : "";
  return item;
}

export function noteItem(note) {
  const item = document.createElement("li");
  item.textContent = `${note.message} (${note.code})`;
  return item;
}

// One line of the story of a decision.
export function stepItem(step) {
  const item = document.createElement("li");
  const name = document.createElement("strong");
  name.textContent = step.name;
  const shares = Object.entries(step.shares || {}).map(([center, share]) => `${center} ${percent(share)}`);
  item.append(name, ` ${step.says}`, shares.length ? ` → ${shares.join(", ")}` : "");
  item.dataset.part = step.part;
  return item;
}

// What is wrong with one item, what was held, and how to force it.
export function findingItem(finding) {
  const item = document.createElement("li");
  item.dataset.severity = finding.severity;
  const subject = document.createElement("strong");
  subject.textContent = finding.subject;
  const since = new Date(finding.since).toLocaleTimeString();
  item.append(subject, ` ${finding.message} (${finding.code}, ${say("since", since)})`);
  for (const [key, words] of [["held", finding.held], ["force", finding.force]]) {
    if (words) {
      const line = document.createElement("div");
      line.className = "quiet";
      line.textContent = say(key, words);
      item.append(line);
    }
  }
  return item;
}

// The data centre whose share the curve runs over.
export function primaryOf(service) {
  return (service.datacenters.find((one) => one.role === "primary") || service.datacenters[0]).name;
}

export function decisionWords(decision, primary) {
  const words = [say("decided", {
    time: new Date(decision.time).toLocaleTimeString(),
    strategy: decision.strategy,
    outcome: decision.outcome,
    primary,
    before: percent(decision.applied[primary]),
    proposed: percent(decision.proposed[primary]),
    decided: percent(decision.decided[primary]),
  })];
  const { interval, dither } = decision;
  if (interval) {
    words.push(say("expected", {
      low: interval.low_ms.toFixed(1), high: interval.high_ms.toFixed(1),
      level: Math.round(100 * interval.level),
    }));
  }
  if (dither && dither.offset) {
    words.push(say("dithered", { offset: percent(dither.offset) }));
  }
  return words.join(" ");
}
