// The charts of a report, drawn by Plotly from what training measured. Each takes an element, the
// sheets (one, or two that are compared) and the words. Colors are those of the page's style.

globalThis.SignalboxReport = globalThis.SignalboxReport || {};

SignalboxReport.charts = (() => {
  const OPTIONS = { displayModeBar: false, responsive: true, displaylogo: false };
  const STRATEGIES = ["hybrid", "greybox", "projected_mlp", "paper_mlp"];
  // Above this many times the lowest prediction a curve only says that a center is full.
  const MOST_TIMES_LOWEST = 4;

  function palette() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return {
      text: of("--text"), line: of("--line"), quiet: of("--quiet"), ground: of("--panel"),
      series: [of("--first"), of("--second"), of("--good"), of("--fourth")],
    };
  }

  function faded(color, share) {
    const part = (at) => parseInt(color.slice(at, at + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${share})`;
  }

  function draw(element, traces, { x, y, ...layout }) {
    const colors = palette();
    const axis = { gridcolor: colors.line, zerolinecolor: colors.line, automargin: true };
    const titled = ({ title, ...rest }) => ({ ...axis, ...rest, title: { text: title, standoff: 8 } });
    Plotly.react(element, traces, {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colors.text, size: 12 },
      margin: { l: 56, r: 12, t: 8, b: 44 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hovermode: "closest", xaxis: titled(x), yaxis: titled(y), ...layout,
    }, OPTIONS);
  }

  const line = (name, x, y, style) => ({ name, x, y, mode: "lines", line: { width: 2, ...style } });

  // The range between two lines, as one filled outline.
  function range(name, x, low, high, color) {
    return {
      name, x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()],
      fill: "toself", fillcolor: faded(color, 0.18), line: { width: 0 }, mode: "lines", hoverinfo: "skip",
    };
  }

  function dots(name, x, y, color, size = 5) {
    return { name, x, y, mode: "markers", marker: { color, size, opacity: 0.55 } };
  }

  function upright(x, color, dash) {
    return { type: "line", xref: "x", yref: "paper", x0: x, x1: x, y0: 0, y1: 1, line: { color, width: 1.5, dash } };
  }

  // The ratios that training saw.
  function seen(low, high, colors, share) {
    return {
      type: "rect", xref: "x", yref: "paper", x0: low, x1: high, y0: 0, y1: 1, layer: "below",
      fillcolor: faded(colors.quiet, share), line: { width: 0 },
    };
  }

  // Two versions are told apart by their digests.
  const label = (sheets, sheet, name) => (sheets.length > 1 ? `${sheet.model.digest.slice(0, 6)} ${name}` : name);

  function loss(element, sheets, words, family) {
    const colors = palette();
    const traces = sheets.flatMap((sheet, index) => Object.entries(sheet.losses)
      .filter(([name]) => (name === "mlp") === (family === "mlp"))
      .flatMap(([name, curve], member) => {
        const color = colors.series[sheets.length > 1 ? index : member % colors.series.length];
        const best = sheet.best_epoch[name];
        const at = curve.epoch.reduce((near, epoch, i) => (
          Math.abs(epoch - best) < Math.abs(curve.epoch[near] - best) ? i : near), 0);
        return [
          { ...line(`${name}`, curve.epoch, curve.training, { color, width: 1.2, dash: "dot" }), showlegend: false },
          line(label(sheets, sheet, name), curve.epoch, curve.validation, { color }),
          {
            name: words.best, x: [best], y: [curve.validation[at]], mode: "markers", showlegend: false,
            marker: { symbol: "diamond", size: 11, color, line: { width: 1, color: colors.text } },
          },
        ];
      }));
    const losses = traces.flatMap((one) => one.y);
    const wide = Math.max(...losses) > 5 * Math.min(...losses);
    draw(element, traces, {
      x: { title: words.epoch },
      y: { title: words.mse, tickformat: "~g", ...(wide ? { type: "log", dtick: "D2" } : {}) },
    });
  }

  const predictor = (sheet, strategy) => sheet.report
    && sheet.report.predictors.find((one) => one.name === strategy);

  // What each sheet has of the chosen strategy, with its color; sheets without it are left out.
  function chosen(sheets, strategy) {
    const colors = palette();
    return sheets.map((sheet, index) => ({
      sheet, own: predictor(sheet, strategy), color: colors.series[index],
    })).filter(({ own }) => own);
  }

  function accuracy(element, sheets, words, strategy) {
    const colors = palette();
    const shown = chosen(sheets, strategy);
    const values = shown.flatMap(({ own }) => [...own.points.predicted_ms, ...own.points.actual_ms]);
    const ends = [Math.min(...values), Math.max(...values)];
    const log = { type: "log", dtick: "D2", tickformat: "~r" };
    draw(element, [
      ...shown.map(({ sheet, own, color }) => dots(
        label(sheets, sheet, strategy), own.points.predicted_ms, own.points.actual_ms, color)),
      line(words.exact, ends, ends, { color: colors.text, width: 1, dash: "dash" }),
    ], { x: { title: words.predicted, ...log }, y: { title: words.actual, ...log } });
  }

  function residuals(element, sheets, words, strategy, by) {
    const percent = (values) => values.map((value) => 100 * value);
    const axis = {
      by_time: { title: words.time, type: "date" },
      by_load: { title: words.load(sheets[0].report.data.load_unit) },
      by_ratio: { title: words.ratio, tickformat: ".2f" },
    }[by];
    const place = (at) => (by === "by_time" ? at.map((time) => new Date(1000 * time).toISOString().slice(0, -1)) : at);
    const traces = chosen(sheets, strategy).flatMap(({ sheet, own, color }) => {
      const { at, low, median, high } = own.residuals[by];
      return [
        { ...range(words.range, place(at), percent(low), percent(high), color), showlegend: sheets.length === 1 },
        line(label(sheets, sheet, words.median), place(at), percent(median), { color }),
      ];
    });
    draw(element, traces, { x: axis, y: { title: words.residual, zeroline: true, zerolinewidth: 2 } });
  }

  function coverage(element, sheets, words, strategy) {
    const colors = palette();
    const percent = (values) => values.map((value) => 100 * value);
    const traces = chosen(sheets, strategy).filter(({ own }) => own.coverage).map(({ sheet, own, color }) => ({
      ...line(label(sheets, sheet, strategy), percent(own.coverage.nominal), percent(own.coverage.observed), { color }),
      mode: "lines+markers",
    }));
    draw(element, [line(words.calibrated, [45, 100], [45, 100], { color: colors.quiet, width: 1, dash: "dash" }), ...traces], {
      x: { title: words.nominal, range: [45, 100] }, y: { title: words.covered },
    });
  }

  function coverageBands(element, sheets, words, strategy) {
    const colors = palette();
    const traces = chosen(sheets, strategy).map(({ sheet, own, color }) => {
      const bands = own.scores.filter((one) => one.coverage !== null);
      return {
        name: label(sheets, sheet, strategy), type: "bar", marker: { color },
        x: bands.map((one) => one.band), y: bands.map((one) => 100 * one.coverage),
      };
    });
    draw(element, traces, {
      x: { title: "" }, y: { title: words.covered, range: [0, 100] }, showlegend: sheets.length > 1,
      shapes: [{ type: "line", xref: "paper", yref: "y", x0: 0, x1: 1, y0: 90, y1: 90, line: { color: colors.text, width: 1.5, dash: "dash" } }],
    });
  }

  function laws(element, sheets, words, center) {
    const colors = palette();
    const traces = sheets.flatMap((sheet, index) => {
      const own = sheet.report && sheet.report.laws.find((one) => one.center === center);
      const color = colors.series[index];
      return own ? [
        dots(label(sheets, sheet, words.observed), own.observed_use, own.observed_ms, sheets.length > 1 ? color : colors.quiet, 4),
        line(label(sheets, sheet, words.fitted), own.use, own.fitted_ms, { color, width: 3 }),
      ] : [];
    });
    const fitted = traces.filter((one) => one.mode === "lines").flatMap((one) => one.y);
    draw(element, traces, {
      x: { title: words.utilization, rangemode: "tozero" },
      y: { title: words.responseMs, range: [0, Math.min(Math.max(...fitted), 6 * Math.min(...fitted)) * 1.1] },
    });
  }

  // One load band. `strategy` is drawn with its interval; with one version the others beside it.
  function scene(element, sheets, words, strategy, band) {
    const colors = palette();
    const shown = sheets.map((sheet, index) => ({
      sheet, color: colors.series[index],
      own: sheet.report && sheet.report.scenes.find((one) => one.band === band),
    })).filter(({ own }) => own);
    const traces = [];
    const lowest = [];
    const shapes = [];
    for (const { sheet, own, color } of shown) {
      const { ratios } = sheet.report;
      const { ratio_low: low, ratio_high: high } = sheet.support;
      shapes.push(seen(low, high, colors, sheets.length > 1 ? 0.08 : 0.14), upright(own.current, colors.text, "dot"));
      if (sheets.length === 1) {
        traces.push(dots(words.observed, own.observed_ratio, own.observed_ms, colors.quiet, 4));
      }
      for (const curve of own.curves) {
        const main = curve.strategy === strategy;
        if (!main && sheets.length > 1) continue;
        const hue = sheets.length > 1 ? color : colors.series[STRATEGIES.indexOf(curve.strategy)] || color;
        if (main && curve.low_ms.length) {
          traces.push({ ...range(words.interval, ratios, curve.low_ms, curve.high_ms, hue), showlegend: sheets.length === 1 });
        }
        traces.push(line(label(sheets, sheet, curve.strategy), ratios, curve.predicted_ms, { color: hue, width: main ? 3 : 1.3, dash: main ? "solid" : "dash" }));
        if (main) {
          lowest.push(Math.min(...curve.predicted_ms));
          traces.push({
            name: words.chosen(curve.strategy), x: [curve.chosen], y: [Math.min(...curve.predicted_ms)], mode: "markers", showlegend: false,
            marker: { symbol: "circle", size: 11, color: hue, line: { width: 2, color: colors.text } },
          });
        }
      }
    }
    const top = MOST_TIMES_LOWEST * Math.max(...lowest);
    const highest = Math.max(...traces.flatMap((one) => one.y).filter((value) => value <= top));
    draw(element, traces, {
      x: { title: words.ratio, tickformat: ".2f", range: [0.19, 0.81] },
      y: { title: words.responseMs, range: lowest.length ? [0, 1.05 * highest] : undefined }, shapes,
    });
  }

  function decision(element, made, words) {
    const colors = palette();
    const near = (ratio) => made.curve.reduce((best, point) => (
      Math.abs(point.ratio - ratio) < Math.abs(best.ratio - ratio) ? point : best)).response_time_ms;
    const mark = (name, ratio, symbol, color) => ({
      name, x: [ratio], y: [near(ratio)], mode: "markers",
      marker: { symbol, color, size: 13, line: { width: 2, color } },
    });
    const marked = [near(made.applied), near(made.decided)];
    const sure = made.curve.filter((point) => point.low_ms !== null && point.high_ms !== null);
    const of = (key) => sure.map((point) => point[key]);
    const [low, high] = made.support;
    draw(element, [
      ...(sure.length ? [range(words.interval, of("ratio"), of("low_ms"), of("high_ms"), colors.series[0])] : []),
      line(made.strategy, made.curve.map((p) => p.ratio), made.curve.map((p) => p.response_time_ms), { color: colors.series[0] }),
      mark(words.current, made.applied, "circle-open", colors.text),
      mark(words.decided, made.decided, "circle", colors.series[2]),
    ], {
      x: { title: words.ratio, tickformat: ".2f" },
      y: { title: words.responseMs, range: [0, 3 * Math.max(...marked)] },
      shapes: low === undefined ? [] : [seen(low, high, colors, 0.14)],
    });
  }

  return { draw, loss, accuracy, residuals, coverage, coverageBands, laws, scene, decision };
})();
