// The charts. Plotly is the global of plotly.min.js.

import { say } from "./words.js";

const COLORS = ["#4fb0ff", "#ffb454", "#5fd38d", "#d58bff", "#ff7a7a"];
const LAYOUT = {
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  font: { color: "#e6ebf1", size: 12 },
  margin: { l: 52, r: 12, t: 8, b: 48 },
  legend: { orientation: "h", y: 1.02, yanchor: "bottom" },
  hovermode: "closest",
};
const GRID = { gridcolor: "#2e3743", zerolinecolor: "#2e3743" };
const OPTIONS = { displayModeBar: false, responsive: true, displaylogo: false };

// Plotly shows times as they are written, so they are written in the reader's own zone.
function local(time) {
  const date = new Date(time);
  return new Date(date - 60000 * date.getTimezoneOffset()).toISOString().slice(0, -1);
}

export function responseTimes(element, samples) {
  const names = [...new Set(samples.map((sample) => sample.datacenter))].sort();
  const traces = names.map((name, index) => {
    const own = samples.filter((sample) => sample.datacenter === name);
    return {
      name,
      x: own.map((sample) => local(sample.time)),
      y: own.map((sample) => sample.response_time_ms),
      mode: "lines",
      line: { color: COLORS[index % COLORS.length], width: 2 },
    };
  });
  Plotly.react(element, traces, {
    ...LAYOUT,
    xaxis: { ...GRID, type: "date" },
    yaxis: { ...GRID, title: { text: "ms" }, rangemode: "tozero" },
  }, OPTIONS);
}

// A data centre near saturation is hundreds of times slower; drawn to scale, all else is flat.
const MOST_TIMES_DECIDED = 3;

// The response times from nothing to a few times the highest of those that matter.
function within(values) {
  const top = MOST_TIMES_DECIDED * Math.max(0, ...values.map((value) => value || 0));
  return top > 0 ? { range: [0, top] } : {};
}

// The interval around the curve: its lower end, and the room up to its higher one.
function band(points, level) {
  const sure = points.filter((point) => point.low_ms !== null && point.high_ms !== null);
  const end = (key, more) => ({
    x: sure.map((point) => point.ratio), y: sure.map((point) => point[key]),
    mode: "lines", line: { width: 0 }, hoverinfo: "skip", ...more,
  });
  return sure.length ? [
    end("low_ms", { showlegend: false }),
    end("high_ms", { name: say("band", Math.round(100 * level)), fill: "tonexty", fillcolor: "rgba(79,176,255,0.22)" }),
  ] : [];
}

// What the model was trained on: outside of it a forecast is a guess.
function supportShapes([low, high] = []) {
  return low === undefined ? [] : [{
    type: "rect", xref: "x", yref: "paper", x0: low, x1: high, y0: 0, y1: 1,
    layer: "below", line: { width: 0 }, fillcolor: "rgba(230,235,241,0.07)",
    label: { text: say("support"), textposition: "top center", font: { size: 10, color: "#9aa7b4" } },
  }];
}

export function curve(element, decision, primary) {
  const points = decision.curve.filter((point) => point.response_time_ms !== null);
  const at = (ratio) => {
    const near = [...points].sort((a, b) => Math.abs(a.ratio - ratio) - Math.abs(b.ratio - ratio));
    return near.length ? near[0].response_time_ms : null;
  };
  const mark = (key, ratio, { symbol, color, size }) => ({
    name: say(key), x: [ratio], y: [at(ratio)], mode: "markers",
    marker: { symbol, color, size, line: { width: 2, color } },
  });
  const marked = ["applied", "proposed", "decided"].map((name) => at(decision[name][primary]));
  const level = decision.interval ? decision.interval.level : 0;
  Plotly.react(element, [
    ...band(points, level),
    {
      name: say("predicted"),
      x: points.map((point) => point.ratio),
      y: points.map((point) => point.response_time_ms),
      mode: "lines",
      line: { color: COLORS[0], width: 2 },
    },
    mark("before", decision.applied[primary], { symbol: "circle-open", color: "#e6ebf1", size: 18 }),
    mark("proposed", decision.proposed[primary], { symbol: "diamond-open", color: COLORS[1], size: 13 }),
    mark("chosen", decision.decided[primary], { symbol: "circle", color: COLORS[2], size: 8 }),
  ], {
    ...LAYOUT,
    xaxis: { ...GRID, title: { text: say("shareAxis", primary) }, tickformat: ".2f" },
    yaxis: { ...GRID, title: { text: say("predictedAxis") }, ...within(marked) },
    shapes: supportShapes(decision.support),
  }, OPTIONS);
}

// More than two data centres: each has a curve over its own share.
export function centerCurves(element, decision) {
  const traces = decision.center_curves.flatMap((one, index) => {
    const color = COLORS[index % COLORS.length];
    const last = one.response_time_ms.length - 1;
    const share = decision.decided[one.datacenter];
    return [
      {
        name: one.datacenter,
        x: one.response_time_ms.map((_, step) => step / last),
        y: one.response_time_ms,
        mode: "lines",
        line: { color, width: 2 },
      },
      {
        name: `${say("chosen")} ${one.datacenter}`,
        x: [share],
        y: [one.response_time_ms[Math.round(share * last)]],
        mode: "markers",
        marker: { symbol: "circle", color, size: 9 },
        showlegend: false,
      },
    ];
  });
  const decided = traces.filter((trace) => trace.mode === "markers").map((trace) => trace.y[0]);
  Plotly.react(element, traces, {
    ...LAYOUT,
    xaxis: { ...GRID, title: { text: say("ownShareAxis") }, tickformat: ".2f" },
    yaxis: { ...GRID, title: { text: say("predictedAxis") }, ...within(decided) },
  }, OPTIONS);
}
