// The words of a report in English and Chinese. Names of strategies, settings and scores are
// those of the API in both.

globalThis.SignalboxReport = globalThis.SignalboxReport || {};

SignalboxReport.words = (() => {
  const ENGLISH = {
    strategy: "Strategy", missing: "What is missing", refused: "Failed its examination",
    identity: (m) => `${m.service}, ${m.kind}, trained ${m.created}`,
    aliases: "alias", none: "none",
    choices: "Response time against ratio", choicesWords: "Median prediction over rows of each load band, with its "
      + "90 % interval. Shaded: ratios seen in training (support). Gray points: observed. Dotted: the ratio in force then.",
    band: (name, load, unit) => `${({ low: "Low", middle: "Middle", high: "High", peak: "Peak" })[name] || name} load, ${load} ${unit}`,
    ratio: "ratio (primary's share)", responseMs: "response time, ms",
    observed: "observed", current: "current", chosen: (name) => `chosen by ${name}`, interval: "90 % interval", support: "support",
    decision: "Newest decision", decisionWords: (d) => `${d.time}: ${d.strategy}. Current ratio ${d.applied}, chosen ${d.decided}.`,
    decided: "chosen",
    accuracy: "Predicted against actual, and residuals", accuracyWords: "Held-out rows. On the line a prediction is exact; "
      + "a residual is actual / predicted - 1: its median, and the range from 5 % to 95 %.",
    heldOut: "Predicted against actual",
    predicted: "predicted, ms", actual: "actual, ms", exact: "exact",
    byTime: "Residual by time", byLoad: "Residual by load", byRatio: "Residual by ratio", residual: "residual, %",
    time: "time, UTC", load: (unit) => `load, ${unit}`, range: "5 % to 95 %", median: "median",
    coverage: "Coverage of the interval", coverageWords: "Share of held-out rows inside the interval. Below the line it is too narrow, above too wide.",
    nominal: "nominal, %", covered: "observed, %", calibrated: "calibrated",
    coverageBands: "The 90 % interval by load band",
    loss: "Loss", lossWords: "Mean squared error by epoch. Solid: validation, dotted: training, diamond: best epoch.",
    lossOf: (name) => ({ mlp: "Network, ms²", residual: "Residual networks, log²" })[name] || name,
    epoch: "epoch", mse: "mean squared error", best: "best epoch",
    laws: "Queue laws", lawsWords: "Each data center's own response time against its utilization (1 is saturation).",
    center: (name) => ({ primary: "Primary", secondary: "Secondary" })[name] || name,
    utilization: "utilization", fitted: "fitted law",
    differences: "What differs", group: "Group", name: "Name", before: "First", after: "Second", change: "Change",
    same: (count) => `${count} more are the same.`,
    card: "Model card",
  };
  const CHINESE = {
    strategy: "策略", missing: "缺少的内容", refused: "未通过检验",
    identity: (m) => `${m.service}，${m.kind}，训练于 ${m.created}`,
    aliases: "别名", none: "无",
    choices: "响应时间与比例", choicesWords: "各负载段的预测中位数及其 90 % 区间。阴影：训练中出现过的比例（支持域）。灰点：实测。点线：当时生效的比例。",
    band: (name, load, unit) => `${({ low: "低", middle: "中", high: "高", peak: "峰值" })[name] || name}负载，${load} ${unit}`,
    ratio: "比例（主中心份额）", responseMs: "响应时间，ms",
    observed: "实测", current: "当前", chosen: (name) => `${name} 的选择`, interval: "90 % 区间", support: "支持域",
    decision: "最近一次决策", decisionWords: (d) => `${d.time}：${d.strategy}。当前比例 ${d.applied}，选择 ${d.decided}。`,
    decided: "选择",
    accuracy: "预测与实际，以及残差", accuracyWords: "留出的行。落在线上表示预测准确；残差为 实际 / 预测 - 1：中位数，以及 5 % 至 95 % 的范围。",
    heldOut: "预测与实际",
    predicted: "预测，ms", actual: "实际，ms", exact: "准确",
    byTime: "残差（按时间）", byLoad: "残差（按负载）", byRatio: "残差（按比例）", residual: "残差，%",
    time: "时间，UTC", load: (unit) => `负载，${unit}`, range: "5 % 至 95 %", median: "中位数",
    coverage: "区间覆盖率", coverageWords: "落在区间内的留出行所占份额。线下表示区间过窄，线上表示过宽。",
    nominal: "名义，%", covered: "实际，%", calibrated: "已校准",
    coverageBands: "各负载段的 90 % 区间",
    loss: "损失", lossWords: "各轮的均方误差。实线：验证；点线：训练；菱形：最佳轮次。",
    lossOf: (name) => ({ mlp: "网络，ms²", residual: "残差网络，log²" })[name] || name,
    epoch: "轮次", mse: "均方误差", best: "最佳轮次",
    laws: "排队模型", lawsWords: "各数据中心自身的响应时间与利用率（1 为饱和）。",
    center: (name) => ({ primary: "主中心", secondary: "副中心" })[name] || name,
    utilization: "利用率", fitted: "拟合曲线",
    differences: "差异", group: "组", name: "名称", before: "第一个", after: "第二个", change: "变化",
    same: (count) => `另有 ${count} 项相同。`,
    card: "模型卡",
  };
  return (language) => (language === "zh" ? CHINESE : ENGLISH);
})();
