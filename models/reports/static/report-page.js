// A version's report as a page: its language, and drawing it again when the colors change.

{
  const content = JSON.parse(document.getElementById("content").textContent);
  const button = document.getElementById("language");
  let language = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
  const show = () => {
    document.documentElement.lang = language;
    button.textContent = language === "zh" ? "English" : "中文";
    SignalboxReport.show(document.getElementById("report"), content, language);
  };
  button.addEventListener("click", () => { language = language === "zh" ? "en" : "zh"; show(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  show();
}
