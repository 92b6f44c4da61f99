// A page of tables and charts: a section for each chart, after what the page begins with.

{
  const main = document.querySelector("main");
  const drawn = JSON.parse(document.getElementById("content").textContent).map(({ title, note, ...chart }) => {
    const section = document.createElement("section");
    const [head, words, place] = ["h2", "p", "div"].map((name) => document.createElement(name));
    [head.textContent, words.textContent, words.className, place.className] = [title, note, "quiet", "chart"];
    section.append(head, words, place);
    main.append(section);
    return [place, chart];
  });
  const show = () => drawn.forEach(([place, { traces, ...layout }]) => {
    SignalboxReport.charts.draw(place, structuredClone(traces), structuredClone(layout));
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}
