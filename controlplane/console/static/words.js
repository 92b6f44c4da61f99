// The page's own words in English and Chinese. What the control plane says (notes, problems) is
// shown as it says it.

const KEY = "signalbox.language";

const ENGLISH = {
  skip: "Skip to content", forget: "Forget token", other: "中文",
  token: "Token", connect: "Connect",
  tokenHelp: "Kept in this tab until it is closed. Any role that may read will do.",
  off: "not connected", on: "live", lost: "connection lost",
  lostWords: (time) => `The control plane does not answer since ${time}. What is shown is from then; `
    + "gateways go on with their last configuration. Trying again every 2 s.",
  revision: (number, version) => `revision ${number}, version ${version}`,
  unpublished: "nothing is published yet",
  weights: "Live weights", service: "Service", center: "Data center", share: "Share",
  shareOf: (name) => `share of ${name}`,
  responseTime: "Response time", requests: "Requests", cpu: "CPU", age: "Sample age",
  noServices: "No service is declared. Apply a fleet: signalbox apply -f FILE",
  times: "Response time, last hour",
  samples: (count, ms, name) => `${count} samples; the newest is ${ms} ms in ${name}.`,
  noSamples: "No samples in the last hour.",
  decision: "Last decision", noDecision: "No decision yet.",
  decided: (d) => `${d.time}: ${d.strategy}. Share of ${d.primary}: ${d.before} before, ${d.proposed} `
    + `proposed, ${d.decided} decided (${d.outcome}).`,
  expected: (d) => `Expected next: ${d.low} to ${d.high} ms, ${d.level} % of the time.`,
  dithered: (d) => `${d.offset} of it are a shift by chance, to learn from.`,
  band: (level) => `${level} % interval`, support: "trained on",
  noCurve: "A rule decided, so there is no curve.",
  noRecord: "Its curve is not on record.",
  predicted: "predicted", before: "before", proposed: "proposed", chosen: "decided",
  shareAxis: (name) => `share of ${name}`, predictedAxis: "predicted ms",
  ownShareAxis: "share of each data center",
  rung: (strategy, rung) => `strategy ${strategy}, decided by: ${({
    capacity: "the capacities", equalizer: "the rule of equal CPU", shadow: "a rule, a model on trial beside it",
    live: "the model", laws: "queue laws of what is measured now", rule: "the rule itself",
  })[rung] || rung}`,
  gateways: "Who runs which revision", gateway: "Gateway", group: "Group", kind: "Kind",
  state: "State", number: "Revision", ack: "ACK", nack: "NACK", refused: "Refused",
  current: "current", behind: "behind", away: "away",
  noGateways: "No gateway is connected.",
  plane: (p) => `${p.plane}: ${p.state}, revision ${p.revision}`,
  findings: "What is wrong now", noFindings: "Nothing.",
  findingCount: (count) => (count === 1 ? "1 finding" : `${count} findings`),
  since: (time) => `since ${time}`,
  held: (words) => `Held: ${words}`, force: (words) => `To force: ${words}`,
  why: "Why: step by step",
  pages: "Pages", overview: "Overview", models: "Models", modelsOf: "Models of",
  noModels: "No model is registered. Train one: signalbox models train SERVICE",
  versions: "Versions", version: "Version", created: "Trained", aliases: "Alias", settings: "Settings",
  errorScore: "Mean error", spread: "Residual spread", actions: "Actions",
  showReport: "Report", promote: "Promote", rollBack: "Roll back", reason: "Reason", moveReason: "Reason for the log",
  compareWith: "Compare with", nothing: "nothing", download: "Save as a page", report: "Report",
  routes: "Routes", askTitle: "Which route a request gets", method: "Method", url: "URL or path",
  headers: "Headers, one a line", source: "Client's address", gatewayGroup: "Gateway group",
  withDraft: "With the draft of", explain: "Explain",
  route: "Route", status: "Status", because: "Because", hostRule: "Host rule", normalPath: "Path in normal form",
  parameters: "Parameters", nextRoute: "Next would be", whyNot: "Why not", missing: "Missing", behindBy: "Behind the winner by",
  others: (count) => `${count} more routes do not match its host or path.`,
  life: "Life", everyLife: "all", "life-draft": "draft", "life-gray": "gray", "life-full": "full", "life-retired": "retired",
  routeFilter: "With this in id, host, path or service", hosts: "Hosts", methods: "Methods", path: "Path",
  goal: "Service or answer", gray: "Gray", wrong: "Findings", redirect: "redirect", answer: "answer", moreRoutes: "More",
  routeCount: (count, more) => `${count}${more ? " of more" : ""}`,
  noRoutes: "None. Write one: signalbox routes write ID -f FILE",
  policies: "Policies", policy: "Policy", mode: "Mode", attachedTo: "Asked about", everything: "everything",
  services: "services", regions: "regions", region: "Region", verdict: "Verdict", effect: "Effect", details: "Details",
  "mode-enforce": "enforced", "mode-observe": "observing", "mode-off": "off",
  "effect-admits": "admits", "effect-decides": "decides", "effect-observes": "only observes",
  "effect-behind": "behind the one that decides", "effect-off": "off",
  tryTitle: "What the policies say of a request", tryUrl: "Address to ask for", tryHeaders: "Header lines",
  trySource: "Caller", tryIt: "Try",
  noPolicies: "None. Declare one: signalbox policies write NAME -f FILE",
  notDrawn: (words) => `This report cannot be drawn: ${words}. Its figures: signalbox models report DIGEST --json`,
  promotionLog: "Promotion log", time: "Time", event: "Event", beforeIt: "Before", author: "Author",
};

const CHINESE = {
  skip: "跳到内容", forget: "清除令牌", other: "English",
  token: "令牌", connect: "连接",
  tokenHelp: "只保存在本标签页，关闭即清除。任何有读取权限的角色均可。",
  off: "未连接", on: "实时", lost: "连接中断",
  lostWords: (time) => `控制面自 ${time} 起没有应答。页面显示的是当时的数据；网关继续使用最后的配置。每 2 秒重试一次。`,
  revision: (number, version) => `修订 ${number}，版本 ${version}`,
  unpublished: "尚未发布任何配置",
  weights: "实时权重", service: "服务", center: "数据中心", share: "份额",
  shareOf: (name) => `${name} 的份额`,
  responseTime: "响应时间", requests: "请求", cpu: "CPU", age: "样本时龄",
  noServices: "尚未声明服务。请应用一个配置：signalbox apply -f FILE",
  times: "最近一小时的响应时间",
  samples: (count, ms, name) => `${count} 个样本；最新为 ${name} 的 ${ms} ms。`,
  noSamples: "最近一小时没有样本。",
  decision: "最近一次决策", noDecision: "尚无决策。",
  decided: (d) => `${d.time}：${d.strategy}。${d.primary} 的份额：之前 ${d.before}，建议 ${d.proposed}，`
    + `决定 ${d.decided}（${d.outcome}）。`,
  expected: (d) => `下一周期预计 ${d.low} 至 ${d.high} ms（${d.level} % 的情况）。`,
  dithered: (d) => `其中 ${d.offset} 为用于学习的随机偏移。`,
  band: (level) => `${level} % 区间`, support: "训练范围",
  noCurve: "由规则决定，没有曲线。",
  noRecord: "曲线没有记录。",
  predicted: "预测", before: "之前", proposed: "建议", chosen: "决定",
  shareAxis: (name) => `${name} 的份额`, predictedAxis: "预测 ms",
  ownShareAxis: "各数据中心的份额",
  rung: (strategy, rung) => `策略 ${strategy}，由${({
    capacity: "容量比例", equalizer: "CPU 均衡规则", shadow: "规则（模型旁路试用中）",
    live: "模型", laws: "按当前测量的排队模型", rule: "规则本身",
  })[rung] || rung}决定`,
  gateways: "各网关运行的修订", gateway: "网关", group: "组", kind: "类型",
  state: "状态", number: "修订", ack: "ACK", nack: "NACK", refused: "拒绝原因",
  current: "最新", behind: "落后", away: "离线",
  noGateways: "没有网关连接。",
  plane: (p) => `${p.plane}：${p.state}，修订 ${p.revision}`,
  findings: "当前问题", noFindings: "没有问题。",
  findingCount: (count) => `${count} 个问题`,
  since: (time) => `自 ${time} 起`,
  held: (words) => `保持不变：${words}`, force: (words) => `如需强制：${words}`,
  why: "原因：逐步说明",
  pages: "页面", overview: "概览", models: "模型", modelsOf: "模型所属服务",
  noModels: "尚未登记模型。请训练一个：signalbox models train SERVICE",
  versions: "版本", version: "版本", created: "训练时间", aliases: "别名", settings: "设置",
  errorScore: "平均误差", spread: "残差离散度", actions: "操作",
  showReport: "报告", promote: "提升", rollBack: "回滚", reason: "原因", moveReason: "记入日志的原因",
  compareWith: "对比", nothing: "无", download: "保存为网页", report: "报告",
  routes: "路由", askTitle: "请求会命中哪条路由", method: "方法", url: "URL 或路径",
  headers: "请求头，每行一个", source: "客户端地址", gatewayGroup: "网关组",
  withDraft: "含此草稿", explain: "解释",
  route: "路由", status: "状态码", because: "原因", hostRule: "主机规则", normalPath: "规范化路径",
  parameters: "参数", nextRoute: "下一条", whyNot: "未命中原因", missing: "缺少", behindBy: "排在其后的原因",
  others: (count) => `另有 ${count} 条路由的主机或路径不匹配。`,
  life: "状态", everyLife: "全部", "life-draft": "草稿", "life-gray": "灰度", "life-full": "全量", "life-retired": "下线",
  routeFilter: "在标识、主机、路径或服务中包含", hosts: "主机", methods: "方法", path: "路径",
  goal: "服务或应答", gray: "灰度", wrong: "问题", redirect: "重定向", answer: "应答", moreRoutes: "更多",
  routeCount: (count, more) => `${count} 条${more ? "，还有更多" : ""}`,
  noRoutes: "没有。请写一条：signalbox routes write ID -f FILE",
  policies: "策略", policy: "策略", mode: "模式", attachedTo: "适用于", everything: "全部请求",
  services: "服务", regions: "地区", region: "地区", verdict: "结论", effect: "作用", details: "详情",
  "mode-enforce": "强制执行", "mode-observe": "仅观察", "mode-off": "关闭",
  "effect-admits": "放行", "effect-decides": "由它决定", "effect-observes": "仅观察",
  "effect-behind": "前面的策略已决定", "effect-off": "关闭",
  tryTitle: "策略如何处理一个请求", tryUrl: "要访问的地址", tryHeaders: "请求头各行",
  trySource: "来访地址", tryIt: "试一试",
  noPolicies: "没有。请声明一条：signalbox policies write NAME -f FILE",
  notDrawn: (words) => `无法绘制此报告：${words}。查看数据：signalbox models report DIGEST --json`,
  promotionLog: "提升日志", time: "时间", event: "事件", beforeIt: "之前", author: "操作者",
};

const browser = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
let language = sessionStorage.getItem(KEY) || browser;

export function say(key, ...values) {
  const words = (language === "zh" ? CHINESE : ENGLISH)[key];
  return typeof words === "function" ? words(...values) : words;
}

export function currentLanguage() {
  return language;
}

export function switchLanguage() {
  language = language === "zh" ? "en" : "zh";
  sessionStorage.setItem(KEY, language);
}

// Puts the words of this language where the page names them.
export function translate() {
  document.documentElement.lang = language;
  for (const element of document.querySelectorAll("[data-say]")) {
    element.textContent = say(element.dataset.say);
  }
}
