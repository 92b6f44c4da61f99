// The two charts. Plotly is the global of plotly.min.js.

const COLORS = ["#4fb0ff", "#ffb454", "#5fd38d", "#d58bff", "#ff7a7a"];
const LAYOUT = {
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  font: { color: "#e6ebf1", size: 12 },
  margin: { l: 52, r: 12, t: 8, b: 40 },
  legend: { orientation: "h", y: 1.12 },
  hovermode: "closest",
};
const GRID = { gridcolor: "#2e3743", zerolinecolor: "#2e3743" };
const OPTIONS = { displayModeBar: false, responsive: true, displaylogo: false };

export function responseTimes(element, samples) {
  const names = [...new Set(samples.map((sample) => sample.datacenter))].sort();
  const traces = names.map((name, index) => {
    const own = samples.filter((sample) => sample.datacenter === name);
    return {
      name,
      x: own.map((sample) => sample.time),
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

export function curve(element, decision, primary) {
  const points = decision.curve.filter((point) => point.response_time_ms !== null);
  const at = (ratio) => {
    const near = [...points].sort((a, b) => Math.abs(a.ratio - ratio) - Math.abs(b.ratio - ratio));
    return near.length ? near[0].response_time_ms : null;
  };
  const mark = (name, ratio, symbol, color) => ({
    name, x: [ratio], y: [at(ratio)], mode: "markers", marker: { symbol, color, size: 12 },
  });
  Plotly.react(element, [
    {
      name: "predicted",
      x: points.map((point) => point.ratio),
      y: points.map((point) => point.response_time_ms),
      mode: "lines",
      line: { color: COLORS[0], width: 2 },
    },
    mark("before", decision.applied[primary], "circle-open", "#9aa7b5"),
    mark("proposed", decision.proposed[primary], "diamond-open", COLORS[1]),
    mark("decided", decision.decided[primary], "circle", COLORS[2]),
  ], {
    ...LAYOUT,
    xaxis: { ...GRID, title: { text: `share of ${primary}` }, tickformat: ".2f" },
    yaxis: { ...GRID, title: { text: "predicted ms" } },
  }, OPTIONS);
}

export function clear(element) {
  Plotly.purge(element);
}
