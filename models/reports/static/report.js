// Builds a report in a page: words, tables and charts of one version, or of two side by side.
// A page of its own and the console both call `SignalboxReport.show`. Classic scripts, because a
// single file cannot import modules.

globalThis.SignalboxReport = globalThis.SignalboxReport || {};

SignalboxReport.show = (() => {
  const BANDS = ["low", "middle", "high", "peak"];

  function element(tag, { text, className, label } = {}, ...children) {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    if (label) made.setAttribute("aria-label", label);
    made.append(...children);
    return made;
  }

  function section(title, words, ...children) {
    const head = element("h2", { text: title });
    return element("section", {}, head, ...(words ? [element("p", { className: "quiet", text: words })] : []), ...children);
  }

  // Charts are drawn once their place is in the page, because Plotly asks for its size.
  function chart(title, drawing, later) {
    const place = element("div", { className: "chart" });
    place.setAttribute("role", "img");
    place.setAttribute("aria-label", title);
    later.push(() => drawing(place));
    return element("figure", {}, element("figcaption", { text: title }), place);
  }

  const grid = (...charts) => element("div", { className: "charts" }, ...charts);

  // A column of nothing but numbers stands to the right.
  function table(columns, rows) {
    const numbers = columns.map((_, index) => rows.every((row) => /^([+-]?[\d.,]+( ?%)?|)$/.test(row[index])));
    const cells = (row, tag) => row.map((text, index) => (
      element(tag, { text, className: numbers[index] ? "number" : "" })));
    const head = element("thead", {}, element("tr", {}, ...cells(columns, "th")));
    const body = element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row, "td"))));
    const scroll = element("div", { className: "scroll", label: columns.join(", ") }, element("table", {}, head, body));
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    return scroll;
  }

  function identity(sheets, words) {
    return sheets.map(({ model, aliases }) => element("p", { className: "identity" },
      element("strong", { text: model.digest.slice(0, 12) }),
      ` ${words.identity({ ...model, created: moment(model.created_at_s) })}`,
      aliases && aliases.length ? ` (${aliases.join(", ")})` : ""));
  }

  const moment = (time) => `${new Date(1000 * time).toISOString().slice(0, 16).replace("T", " ")} UTC`;

  function strategies(sheets) {
    const known = sheets.filter((sheet) => sheet.report).flatMap((sheet) => sheet.report.predictors.map((one) => one.name));
    return [...new Set(known)];
  }

  function measured(sheets, words, strategy) {
    const { charts } = SignalboxReport;
    const later = [];
    const whole = sheets.filter((sheet) => sheet.report);
    const unit = whole[0].report.data.load_unit;
    const at = (band) => whole.flatMap((sheet) => sheet.report.scenes.filter((one) => one.band === band));
    const made = [
      section(words.choices, words.choicesWords, grid(...BANDS.filter((band) => at(band).length).map((band) => (
        chart(words.band(band, at(band).map((one) => Math.round(one.load)).join(" / "), unit),
          (place) => charts.scene(place, whole, words, strategy, band), later))))),
      section(words.accuracy, words.accuracyWords, grid(
        chart(words.heldOut, (place) => charts.accuracy(place, whole, words, strategy), later),
        ...[["by_time", words.byTime], ["by_load", words.byLoad], ["by_ratio", words.byRatio]].map(([by, title]) => (
          chart(title, (place) => charts.residuals(place, whole, words, strategy, by), later))))),
      section(words.coverage, words.coverageWords, grid(
        chart(words.coverage, (place) => charts.coverage(place, whole, words, strategy), later),
        chart(words.coverageBands, (place) => charts.coverageBands(place, whole, words, strategy), later))),
      section(words.laws, words.lawsWords, grid(...["primary", "secondary"]
        .filter((center) => whole.some((sheet) => sheet.report.laws.some((one) => one.center === center)))
        .map((center) => chart(words.center(center), (place) => charts.laws(place, whole, words, center), later)))),
    ];
    return { made, later };
  }

  // The part that depends on the strategy that its reader chose.
  function measuredPart(sheets, words) {
    const names = strategies(sheets);
    if (!names.length) {
      return { part: element("div"), begin: () => {} };
    }
    const select = element("select", { label: words.strategy }, ...names.map((name) => new Option(name, name)));
    const body = element("div", { className: "parts" });
    const redraw = () => {
      const { made, later } = measured(sheets, words, select.value);
      body.replaceChildren(...made);
      later.forEach((drawing) => drawing());
    };
    select.addEventListener("change", redraw);
    const choice = element("label", { className: "choice" }, `${words.strategy} `, select);
    return { part: element("div", { className: "parts" }, choice, body), begin: redraw };
  }

  function losses(sheets, words, later) {
    const names = sheets.flatMap((sheet) => Object.keys(sheet.losses));
    const families = ["mlp", "residual"].filter((family) => names.some((name) => (name === "mlp") === (family === "mlp")));
    return section(words.loss, words.lossWords, grid(...families.map((family) => (
      chart(words.lossOf(family), (place) => SignalboxReport.charts.loss(place, sheets, words, family), later)))));
  }

  function differences(lines, words) {
    const shown = lines.filter((one) => one.before !== one.after);
    const plain = (value) => (value === null ? "–" : typeof value === "number" ? String(Number(value.toPrecision(5)))
      : /^[0-9a-f]{64}$/.test(value) ? value.slice(0, 12) : String(value));
    const change = (value) => (value === null ? "" : `${value > 0 ? "+" : ""}${value.toFixed(1)} %`);
    return section(words.differences, words.same(lines.length - shown.length), table(
      [words.group, words.name, words.before, words.after, words.change],
      shown.map((one) => [one.group, one.name, plain(one.before), plain(one.after), change(one.change_pct)])));
  }

  function card(sections, words) {
    const parts = sections.flatMap((one) => [
      element("h3", { text: one.title }),
      ...one.text.map((text) => element("p", { text })),
      ...(one.columns.length ? [table(one.columns, one.rows)] : []),
    ]);
    return section(words.card, "", ...parts);
  }

  // What kept a version out of the shadow comes first.
  function refusals(sheets, words) {
    const failed = sheets.flatMap((sheet) => sheet.examination.filter((check) => !check.passed));
    const lines = failed.map((check) => element("p", { text: `${check.code}: ${check.message}` }));
    return lines.length ? [section(words.refused, "", ...lines)] : [];
  }

  function decision(made, words, later) {
    const when = new Date(made.time).toISOString().slice(0, 16).replace("T", " ");
    const said = { time: `${when} UTC`, strategy: made.strategy, applied: made.applied.toFixed(3), decided: made.decided.toFixed(3) };
    return section(words.decision, words.decisionWords(said), grid(
      chart(words.decision, (place) => SignalboxReport.charts.decision(place, made, words), later)));
  }

  // content: {models: [sheet, ...], card: [section, ...], differences: [...], decision}
  return function show(root, content, language) {
    const words = SignalboxReport.words(language);
    const later = [];
    const sheets = content.models;
    const { part, begin } = measuredPart(sheets, words);
    const lacking = [...new Set(sheets.flatMap((sheet) => sheet.missing))];
    root.replaceChildren(
      ...identity(sheets, words),
      ...refusals(sheets, words),
      ...(lacking.length ? [section(words.missing, "", ...lacking.map((text) => element("p", { text })))] : []),
      ...(content.decision ? [decision(content.decision, words, later)] : []),
      part,
      losses(sheets, words, later),
      ...(content.differences ? [differences(content.differences, words)] : []),
      ...(content.card ? [card(content.card, words)] : []),
    );
    begin();
    later.forEach((drawing) => drawing());
  };
})();
